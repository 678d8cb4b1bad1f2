#!/bin/sh
# onnx_numbers.sh PROGRAM FOLDER DATA: results of ONNX models of DATA, filled with seeded numbers and
# run through their lowering, against those of onnxruntime-node, which is installed into FOLDER.
# Exit 77 where node, the package or the data is not to be had.
set -eu
program=$1 folder=$2 data=$3
here=$(dirname "$(readlink -f "$0")")

skip() {
  echo "skipped: $*"
  exit 77
}
[ -d "$data/onnx" ] || skip "no folder $data/onnx"
command -v node >/dev/null 2>&1 || skip "node is not installed"
command -v npm >/dev/null 2>&1 || skip "npm is not installed"
mkdir -p "$folder"
if [ ! -d "$folder/node_modules/onnxruntime-node" ]; then
  # The package brings its CPU library; its install script would fetch one for GPUs.
  ONNXRUNTIME_NODE_INSTALL=skip npm install --ignore-scripts --no-audit --no-fund --silent \
    --prefix "$folder" onnxruntime-node@1 >"$folder/npm.log" 2>&1 ||
    skip "npm cannot get onnxruntime-node: see $folder/npm.log"
fi

failed=0
# MODEL [BATCH]: the models whose batch can be changed run at a small one.
compare() {
  numbers=$folder/$1
  if "$program" "$data/onnx/$1.onnx" "$numbers" ${2:+"$2"} >"$folder/run.log" 2>&1 &&
     line=$(NODE_PATH="$folder/node_modules" node "$here/onnx_numbers.js" "$numbers" 2>&1); then
    echo "$1: $line"
  else
    echo "$1: FAILED: $(tail -n 3 "$folder/run.log") ${line:-}"
    failed=1
  fi
  rm -rf "$numbers"
}

compare alexnet_b64 2
compare convnext_tiny_b32
compare fcn_resnet50_b4 1
compare gnmt_l2_b128_s40_lstm
compare gnmt_l2_b128_s40_unrolled
compare googlenet_b64 2
compare inceptionv4_b8
compare mobilenet_v3_large_b1
compare nasnetamobile_b32
compare nn_transformer_base_b32_s64
compare pnasnet5large_b4
compare regnet_y_8gf_b8 1
compare resnet50_b1
compare resnet50_dynbatch 2
compare resnet50_trainmode_b32 4
compare squeezenet1_0_b64 2
compare transformer_xl_enwik8_b4_t512_m512
compare wavenet_10x4_b1
compare wlm_transformer_6x512_b32_t128
compare gpt2_small_b4_s1024
compare bert_base_qa_b24_s384
exit $failed
