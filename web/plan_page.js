// Draws the timeline of a plan's page: src/report/page/page_timeline.h says what its data are.
(() => {
  "use strict";
  const root = document.getElementById("timeline");
  const packed = document.getElementById("timeline-data");
  if (!root || !packed) return;

  const LABELS = root.clientWidth < 640 ? 96 : 150, AXIS = 34, TOP = 6;
  const OPS = 24, MOVES = 10, MEMORY = 34, GAP = 14;  // heights within a lane, px
  const PHASES = ["forward", "backward", "optimizer"];

  // ---- data ----

  const unpack = async text => {
    const bytes = Uint8Array.from(atob(text.trim()), c => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  };

  const runningSum = gaps => {
    const sums = new Float64Array(gaps.length);
    let sum = 0;
    for (let i = 0; i < gaps.length; ++i) sums[i] = sum += gaps[i];
    return sums;
  };

  // Columns as the file has them, to begins and ends.
  const readDevice = data => {
    const n = data.gap.length;
    const start = new Float64Array(n), end = new Float64Array(n);
    for (let i = 0, last = 0; i < n; ++i) {
      start[i] = last + data.gap[i];
      end[i] = last = start[i] + data.time[i];
    }
    const moves = data.moves, from = runningSum(moves.gap);
    let longest = 0;
    for (const time of moves.time) longest = Math.max(longest, time);
    return {
      start, end, op: runningSum(data.op), count: data.count, fixed: data.fixed,
      moves: { start: from, end: from.map((t, i) => t + moves.time[i]), wait: moves.wait,
               what: moves.what, bytes: moves.bytes, kind: moves.kind, count: moves.count, longest },
      memory: { at: runningSum(data.memory.gap), bytes: runningSum(data.memory.bytes) },
    };
  };

  // The last index whose value is at most x; -1: none.
  const lastAtMost = (values, x) => {
    let low = -1, high = values.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (values[middle] <= x) low = middle; else high = middle - 1;
    }
    return low;
  };

  // ---- words ----

  const number = x => x >= 1000 ? Math.round(x).toLocaleString("en")
    : x.toPrecision(3).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
  const time = ns => {
    for (const [unit, factor] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]]) {
      if (Math.abs(ns) >= factor) return number(ns / factor) + " " + unit;
    }
    return Math.round(ns) + " ns";
  };
  const bytes = b => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let i = 0;
    for (; b >= 1024 && i < 4; ++i) b /= 1024;
    return (i ? b.toFixed(1) : b) + " " + units[i];
  };
  // A moment, as exactly as the shown stretch asks for.
  const moment = (ns, shown) => {
    const [unit, factor] = shown >= 2e9 ? ["s", 1e9] : shown >= 2e6 ? ["ms", 1e6]
      : shown >= 2e3 ? ["us", 1e3] : ["ns", 1];
    const digits = Math.max(0, Math.min(9, 2 - Math.floor(Math.log10(shown / 8 / factor))));
    const text = (ns / factor).toFixed(digits);
    return (text.includes(".") ? text.replace(/\.?0+$/, "") : text) + " " + unit;
  };
  const escape = text => text.replace(/[\u0000-\u001f\u007f-\u009f]/g, "?");

  // ---- the chart ----

  const show = file => {
    const step = Math.max(1, file.step);
    const devices = file.data.map(readDevice);
    const lanes = file.lanes.filter(lane => lane.shown.some(at => at >= 0)).map(lane => ({
      lane, chosen: lane.shown.findIndex(at => at >= 0), y: 0, height: 0,
    }));
    const deviceOf = one => devices[one.lane.shown[one.chosen]];
    const height = lanes.reduce((y, one) => {
      one.y = y;
      one.moves = one.lane.shown.some(at => at >= 0 && devices[at].moves.start.length > 0);
      one.memory = OPS + (one.moves ? MOVES + 2 : 0) + 2;
      one.height = one.memory + MEMORY;
      return y + one.height + GAP;
    }, TOP);

    const style = getComputedStyle(document.documentElement);
    let colors = {};
    const readColors = () => {
      for (const name of ["ink", "faint", "paper", "line", "field", "forward", "backward",
                          "optimizer", "move", "tensors", "fixed", "bad"]) {
        colors[name] = style.getPropertyValue("--" + name).trim();
      }
    };
    readColors();

    const chart = document.createElement("div");
    const tools = document.createElement("div");
    const names = document.createElement("div");
    const tip = document.createElement("div");
    tools.className = "tools";
    names.className = "lanes";
    names.style.width = LABELS + "px";
    tip.className = "tip";
    root.replaceChildren(tools, chart, names, tip);
    root.tabIndex = 0;
    root.setAttribute("role", "img");
    root.setAttribute("aria-label", "Timeline of the step by device; the tables below say what is in it");

    // Boxes of [start, end) that are nearer than half a pixel are drawn as one.
    const boxes = (u, start, end, first, colorOf, y, h) => {
      const { min, max } = u.scales.x, ctx = u.ctx, ratio = devicePixelRatio || 1;
      const scale = u.bbox.width / (max - min), left = u.bbox.left, right = left + u.bbox.width;
      let color = null, from = 0, to = -1;
      const flush = () => {
        if (to < from) return;
        ctx.fillStyle = color;
        ctx.fillRect(from, y, Math.max(to - from, 0.5 * ratio), h);
      };
      for (let i = Math.max(0, first); i < start.length && start[i] <= max; ++i) {
        if (end[i] < min) continue;
        const a = Math.max(left, left + (start[i] - min) * scale);
        const b = Math.min(right, left + (end[i] - min) * scale);
        const next = colorOf(i);
        if (next === color && a - to < 0.5 * ratio) {
          to = Math.max(to, b);
        } else {
          flush();
          color = next; from = a; to = b;
        }
        // Seams, where there is room.
        if (b - a > 4 * ratio) {
          to = b - ratio * 0.6;
          flush();
          color = null; to = -1; from = 0;
        }
      }
      flush();
    };

    const drawMemory = (u, one, device, y, h) => {
      const { min, max } = u.scales.x, ctx = u.ctx, memory = device.memory;
      const whole = Math.max(1, one.lane.capacity + one.lane.reserve);
      const Y = b => y + h * (1 - Math.min(1, b / whole));
      const X = t => u.bbox.left + (t - min) * u.bbox.width / (max - min);
      ctx.beginPath();
      ctx.moveTo(u.bbox.left, y + h);
      let i = Math.max(0, lastAtMost(memory.at, min));
      let level = Y(device.fixed + (memory.bytes[i] ?? 0));
      ctx.lineTo(u.bbox.left, level);
      // One point a pixel: the largest of what falls there.
      let pixel = -1, top = level;
      for (++i; i < memory.at.length && memory.at[i] <= max; ++i) {
        const x = X(memory.at[i]), next = Y(device.fixed + memory.bytes[i]);
        if (Math.floor(x) !== pixel) {
          ctx.lineTo(x, level);
          pixel = Math.floor(x);
          top = next;
          ctx.lineTo(x, next);
        } else if (next < top) {
          top = next;
          ctx.lineTo(x, next);
        }
        level = next;
      }
      ctx.lineTo(u.bbox.left + u.bbox.width, level);
      ctx.lineTo(u.bbox.left + u.bbox.width, y + h);
      ctx.closePath();
      ctx.fillStyle = colors.tensors;
      ctx.fill();
      ctx.fillStyle = colors.fixed;
      ctx.fillRect(u.bbox.left, Y(device.fixed), u.bbox.width, y + h - Y(device.fixed));
      ctx.strokeStyle = colors.bad;
      ctx.setLineDash([4, 3]);
      ctx.beginPath();
      ctx.moveTo(u.bbox.left, Y(one.lane.capacity) + 0.5);
      ctx.lineTo(u.bbox.left + u.bbox.width, Y(one.lane.capacity) + 0.5);
      ctx.stroke();
      ctx.setLineDash([]);
    };

    const draw = u => {
      const ctx = u.ctx, ratio = devicePixelRatio || 1;
      ctx.save();
      ctx.beginPath();
      ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
      ctx.clip();
      for (const one of lanes) {
        const device = deviceOf(one), y = u.bbox.top + one.y * ratio;
        ctx.fillStyle = colors.field;
        ctx.fillRect(u.bbox.left, y, u.bbox.width, OPS * ratio);
        ctx.fillRect(u.bbox.left, y + one.memory * ratio, u.bbox.width, MEMORY * ratio);
        boxes(u, device.start, device.end, lastAtMost(device.start, u.scales.x.min),
              i => colors[PHASES[file.ops.phase[device.op[i]]]], y, OPS * ratio);
        if (one.moves) {
          const moves = device.moves, up = y + (OPS + 2) * ratio;
          ctx.fillStyle = colors.field;
          ctx.fillRect(u.bbox.left, up, u.bbox.width, MOVES * ratio);
          boxes(u, moves.start, moves.end, lastAtMost(moves.start, u.scales.x.min - moves.longest),
                () => colors.move, up, MOVES * ratio);
        }
        drawMemory(u, one, device, y + one.memory * ratio, MEMORY * ratio);
      }
      if (file.bound > 0 && file.bound <= step) {
        const x = u.valToPos(file.bound, "x", true);
        ctx.strokeStyle = colors.bad;
        ctx.setLineDash([6, 3]);
        ctx.beginPath();
        ctx.moveTo(x, u.bbox.top);
        ctx.lineTo(x, u.bbox.top + u.bbox.height);
        ctx.stroke();
      }
      ctx.restore();
    };

    // ---- what lies under the cursor ----

    const textAt = (x, y, pixel) => {
      const one = lanes.find(lane => y >= lane.y && y < lane.y + lane.height);
      if (!one) return "";
      const device = deviceOf(one), name = one.lane.devices[one.chosen], at = y - one.y;
      if (at < OPS) {
        let i = lastAtMost(device.start, x);
        if (i < 0 || (device.end[i] < x && x - device.end[i] > pixel)) {
          const next = i + 1;
          if (next >= device.start.length || device.start[next] - x > pixel) {
            return `idle\n${name}, at ${time(x)}`;
          }
          i = next;
        }
        const op = device.op[i], count = device.count[i] ?? 1;
        const module = escape(file.modules[file.ops.module[op]]);
        return `${escape(file.names[file.ops.name[op]])}`
          + (count > 1 ? ` and ${count - 1} more\n` : `\n${escape(file.types[file.ops.type[op]])}\n`)
          + (module ? `in ${module}\n` : "")
          + `${PHASES[file.ops.phase[op]]}, ${time(device.end[i] - device.start[i])} from `
          + `${time(device.start[i])}\n${name}`;
      }
      if (one.moves && at >= OPS && at < OPS + MOVES + 2) {
        const moves = device.moves, found = [];
        for (let i = lastAtMost(moves.start, x + pixel); i >= 0; --i) {
          if (moves.start[i] < x - pixel - moves.longest) break;
          if (moves.end[i] + pixel >= x) found.push(i);
          if (found.length > 3) break;
        }
        if (found.length === 0) return `nothing moves\n${name}, at ${time(x)}`;
        return found.slice(0, 3).map(i =>
          `${file.kinds[moves.kind[i]]}: ${escape(file.names[moves.what[i]])}`
          + ((moves.count[i] ?? 1) > 1 ? ` and ${moves.count[i] - 1} more\n` : "\n")
          + `${bytes(moves.bytes[i])}, ${time(moves.end[i] - moves.start[i])} from `
          + time(moves.start[i])
          + (moves.wait[i] > 0 ? `, waited ${time(moves.wait[i])}` : "")).join("\n")
          + (found.length > 3 ? "\nand more" : "") + `\n${name}`;
      }
      const i = lastAtMost(device.memory.at, x);
      const tensors = device.memory.bytes[Math.max(0, i)] ?? 0;
      return `memory at ${time(x)}: ${bytes(tensors + device.fixed)} of ${bytes(one.lane.capacity)}\n`
        + `tensors ${bytes(tensors)}, beside them ${bytes(device.fixed)} `
        + `(runtime context, largest workspace)\n${name}`;
    };

    const showTip = u => {
      const { left, top } = u.cursor;
      if (left == null || left < 0 || top < 0) { tip.style.display = "none"; return; }
      const pixel = (u.scales.x.max - u.scales.x.min) / Math.max(1, u.over.clientWidth);
      const text = textAt(u.posToVal(left, "x"), top, 1.5 * pixel);
      if (!text) { tip.style.display = "none"; return; }
      tip.textContent = text;
      tip.style.display = "block";
      const over = u.over.getBoundingClientRect(), base = root.getBoundingClientRect();
      const x = over.left - base.left + left, y = over.top - base.top + top;
      const room = base.width - tip.offsetWidth;
      tip.style.left = Math.max(0, Math.min(x + 14, room)) + "px";
      tip.style.top = y + 18 + "px";
    };

    // ---- moving about ----

    // What is shown, or will be at the next frame: several events may come before it.
    const view = { min: 0, max: step }, least = Math.min(step, 20);
    const look = (u, min, width) => {
      width = Math.min(step, Math.max(least, width));
      view.min = Math.max(0, Math.min(step - width, min));
      view.max = view.min + width;
      u.setScale("x", { min: view.min, max: view.max });
    };
    // By `factor`, so that the moment at `share` of the width stays where it is.
    const zoomBy = (u, factor, share = 0.5) => {
      const before = view.max - view.min;
      const width = Math.min(step, Math.max(least, before * factor));
      look(u, view.min + share * (before - width), width);
    };
    const moveBy = (u, share) => {
      const width = view.max - view.min;
      look(u, view.min + share * width, width);
    };

    const onWheel = (u, event) => {
      const whole = view.max - view.min >= step;
      const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      const delta = sideways ? (event.deltaX || event.deltaY) : event.deltaY;
      if (!sideways && whole && delta > 0) return;  // the page scrolls
      event.preventDefault();
      if (sideways) return moveBy(u, Math.sign(delta) * 0.15);
      const box = u.over.getBoundingClientRect();
      zoomBy(u, Math.pow(1.25, Math.sign(delta)), (event.clientX - box.left) / box.width);
    };

    // Two fingers zoom and move, one scrolls the page.
    const pinch = u => {
      let before = null;
      const read = event => {
        const box = u.over.getBoundingClientRect();
        const [a, b] = [...event.touches].map(touch => touch.clientX - box.left);
        return { middle: (a + b) / 2, apart: Math.max(10, Math.abs(a - b)) };
      };
      u.over.addEventListener("touchstart", event => {
        before = event.touches.length === 2 ? read(event) : null;
      }, { passive: true });
      u.over.addEventListener("touchmove", event => {
        if (!before || event.touches.length !== 2) return;
        event.preventDefault();
        const now = read(event);
        moveBy(u, (before.middle - now.middle) / Math.max(1, u.over.clientWidth));
        zoomBy(u, before.apart / now.apart, now.middle / Math.max(1, u.over.clientWidth));
        before = now;
      }, { passive: false });
    };

    const width = () => Math.max(280, root.clientWidth);
    const u = new uPlot({
      width: width(), height: height + AXIS, pxAlign: 0,
      padding: [0, 8, 0, 0],
      scales: { x: { time: false, range: (_, min, max) => [min ?? 0, max ?? step] },
                y: { range: [0, 1] } },
      series: [{}, { show: true, stroke: "transparent", points: { show: false } }],
      axes: [
        { stroke: () => colors.ink, grid: { stroke: () => colors.line, width: 1 },
          ticks: { stroke: () => colors.line }, space: 90, size: AXIS,
          values: (self, at) => at.map(t => moment(t, self.scales.x.max - self.scales.x.min)) },
        { size: LABELS, values: () => [], grid: { show: false }, ticks: { show: false } },
      ],
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      hooks: {
        drawAxes: [draw],
        setCursor: [showTip],
        setSelect: [self => {
          const { left, width: wide } = self.select;
          if (wide > 3) {
            const from = self.posToVal(left, "x");
            look(self, from, self.posToVal(left + wide, "x") - from);
          }
          self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
        setScale: [() => { tip.style.display = "none"; }],
      },
    }, [[0, step], [null, null]], chart);
    const all = () => look(u, 0, step);
    all();
    u.over.addEventListener("wheel", event => onWheel(u, event), { passive: false });
    u.over.addEventListener("dblclick", all);
    u.over.addEventListener("mouseleave", () => { tip.style.display = "none"; });
    pinch(u);
    root.addEventListener("keydown", event => {
      if (event.target !== root) return;
      const actions = { ArrowLeft: () => moveBy(u, -0.15), ArrowRight: () => moveBy(u, 0.15),
                        "+": () => zoomBy(u, 0.8), "=": () => zoomBy(u, 0.8),
                        "-": () => zoomBy(u, 1.25), "0": all };
      const action = actions[event.key];
      if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      action();
    });

    // ---- names of the lanes, the buttons and the legend ----

    for (const one of lanes) {
      const box = document.createElement("div");
      box.style.top = one.y + "px";
      box.style.height = one.height + "px";
      const title = document.createElement("b");
      const many = one.lane.devices.length;
      title.textContent = one.lane.name;
      title.title = one.lane.devices.join(", ");
      box.append(title);
      const about = document.createElement("em");
      about.textContent = one.lane.kind + (many > 1 ? ` x ${many}` : "");
      box.append(about);
      if (one.lane.shown.filter(at => at >= 0).length > 1) {
        const choice = document.createElement("select");
        choice.setAttribute("aria-label", "Device shown of " + one.lane.name);
        one.lane.devices.forEach((name, i) => {
          if (one.lane.shown[i] >= 0) choice.append(new Option(name, i));
        });
        choice.value = one.chosen;
        choice.addEventListener("change", () => { one.chosen = +choice.value; u.redraw(); });
        box.append(document.createElement("br"), choice);
      } else if (many > 1) {
        const which = document.createElement("em");
        which.textContent = ", shown: " + one.lane.devices[one.chosen];
        box.append(which);
      }
      names.append(box);
    }
    const button = (text, label, action) => {
      const made = document.createElement("button");
      made.type = "button";
      made.textContent = text;
      made.setAttribute("aria-label", label);
      made.addEventListener("click", action);
      tools.append(made);
    };
    button("+", "Zoom in", () => zoomBy(u, 0.5));
    button("\u2212", "Zoom out", () => zoomBy(u, 2));
    button("\u2190", "Earlier", () => moveBy(u, -0.5));
    button("\u2192", "Later", () => moveBy(u, 0.5));
    button("whole step", "Show the whole step", all);
    const legend = [["forward", "forward"], ["backward", "backward"], ["optimizer", "optimizer"],
                    ["move", "collective or transfer"], ["tensors", "tensors in memory"],
                    ["fixed", "other memory"]];
    if (file.bound > 0) legend.push(["bad", "bound, usable memory"]);
    else legend.push(["bad", "usable memory"]);
    for (const [color, text] of legend) {
      const entry = document.createElement("span");
      const swatch = document.createElement("i");
      swatch.style.background = `var(--${color})`;
      entry.append(swatch, text);
      tools.append(entry);
    }

    const place = () => { names.style.top = chart.offsetTop + "px"; };
    place();
    let wide = width();
    new ResizeObserver(() => {
      if (width() !== wide) u.setSize({ width: wide = width(), height: height + AXIS });
      place();
    }).observe(root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      readColors();
      u.redraw(false);
    });
    root.dataset.ready = "1";
    return { u, lanes, textAt };
  };

  const fail = error => {
    root.textContent = "The timeline cannot be drawn here (" + error.message
      + "): it needs a browser of 2023 or later.";
  };
  unpack(packed.textContent).then(file => { window.planTimeline = show(file); }).catch(fail);
})();
