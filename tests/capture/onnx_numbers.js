// node onnx_numbers.js FOLDER: runs FOLDER/model.onnx with onnxruntime-node on the inputs of
// FOLDER/manifest.json and prints by how much the results differ, over the largest of them. Exit 1
// where that is more than 1e-4. NODE_PATH names the folder of node modules.
const fs = require('fs');
const path = require('path');
const ort = require('onnxruntime-node');

const ARRAYS = { float32: Float32Array, int64: BigInt64Array, int32: Int32Array,
                 bool: Uint8Array, uint8: Uint8Array };

function read(folder, item) {
  const bytes = fs.readFileSync(path.join(folder, item.file));
  const copy = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  return new ARRAYS[item.type](copy);
}

// The largest difference, and the largest value; all differences count where either is no number.
function compare(found, wanted) {
  let difference = 0, largest = 0;
  for (let i = 0; i < wanted.length; ++i) {
    const a = Number(found[i]), b = Number(wanted[i]);
    if (Number.isNaN(a) !== Number.isNaN(b)) return { difference: Infinity, largest: 1 };
    if (Number.isNaN(a) || a === b) { largest = Math.max(largest, Math.abs(b) || 0); continue; }
    difference = Math.max(difference, Math.abs(a - b));
    largest = Math.max(largest, Math.abs(b));
  }
  return { difference, largest };
}

async function main() {
  const folder = process.argv[2];
  const manifest = JSON.parse(fs.readFileSync(path.join(folder, 'manifest.json'), 'utf8'));
  const session = await ort.InferenceSession.create(path.join(folder, 'model.onnx'),
                                                    { graphOptimizationLevel: 'basic', logSeverityLevel: 3 });
  const feeds = {};
  for (const item of manifest.inputs) {
    if (!session.inputNames.includes(item.name)) continue;
    feeds[item.name] = new ort.Tensor(item.type, read(folder, item), item.shape);
  }
  const results = await session.run(feeds);
  let worst = 0, largest = 0;
  for (const item of manifest.outputs) {
    const result = results[item.name];
    if (JSON.stringify(result.dims) !== JSON.stringify(item.shape)) {
      throw new Error(`${item.name}: shape ${result.dims} is not ${item.shape}`);
    }
    const c = compare(result.data, read(folder, item));
    largest = Math.max(largest, c.largest);
    worst = Math.max(worst, c.largest > 0 ? c.difference / c.largest : c.difference);
  }
  console.log(`${manifest.outputs.length} outputs, largest ${largest.toExponential(2)}, ` +
              `relative difference ${worst.toExponential(2)}`);
  if (!(worst <= 1e-4) || !(largest > 0)) process.exit(1);
}

main().catch((error) => { console.error(String(error)); process.exit(2); });
