"""The table of what try_models found, as Markdown."""

import ast
import os
import pathlib
import platform
import re
import textwrap

BEGIN, END = "<!-- made by bench/models/try_models -->\n", "<!-- end -->\n"
TITLES = {"language": "Language", "vision": "Vision", "speech": "Speech and sound",
          "multimodal": "Several kinds of data", "diffusion": "Diffusion"}
HEAD = """\
| model | of it | type | batch a GPU | ops | recorded, s | one H100: step, ms | GiB | planned, s | data parallel on 8: step, ms | \
keeps | copied | planned, s | default: algorithm | step, ms | planned, s | holds |
|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|---|
"""
TYPES = {"bfloat16": "bf16", "float16": "f16", "float32": "f32"}


def sentence(found):
    """What was found of a model, for who waits for it."""
    refused = found.get("refused")
    if refused:
        return f"refused at {refused['stage']}: {refused['text'][:300]}"
    holds = found["parallel"]["holds"] and found["auto"]["holds"]
    return (f"{found['record']['ops']} ops, recorded in {found['record']['seconds']:.0f} s, keeps "
            f"{found['keeps']:.2f}, copied {found['parallel']['copied']:.2%}, "
            f"{found['auto']['algorithm']}, {'holds' if holds else 'DOES NOT HOLD'}")


def page(text, models, results):
    """The page with the table between its marks made anew; a page without marks gets one behind."""
    made = BEGIN + _tables(models, results) + END
    if BEGIN in text and END in text:
        before, rest = text.split(BEGIN, 1)
        return before + made + rest.split(END, 1)[1]
    return text + made


def _tables(models, results):
    tried = [(entry, results[entry["name"]]) for entry in models if entry["name"] in results]
    text = _summary(tried, len(models))
    groups = dict.fromkeys(entry["group"] for entry, _ in tried)
    for group in groups:
        rows = [_row(entry, found) for entry, found in tried
                if entry["group"] == group and "record" in found]
        if rows:
            text += f"\n**{TITLES.get(group, group)}**\n\n{HEAD}" + "".join(rows)
    refused = [(entry, found["refused"]) for entry, found in tried if "refused" in found]
    if refused:
        text += "\n**Refused**\n\n| model | at | what was said |\n|---|---|---|\n"
        text += "".join(f"| {entry['name']} | {why['stage']} | {_cell(why['text'])} |\n"
                        for entry, why in refused)
    return text


def _summary(tried, count):
    if not tried:
        return "No model was tried.\n"
    dates = sorted({found["date"] for _, found in tried})
    versions = {}
    for _, found in tried:
        versions.update(found["versions"])
    said = ", ".join(f"{name} {version}" for name, version in versions.items())
    whole = sum("auto" in found for _, found in tried)
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    iterations = sorted({found["iterations"] for _, found in tried})
    return textwrap.fill(
        f"{len(tried)} of {count} models tried, of which {whole} are recorded, proven to follow their batch and planned on 1 "
        f"and 8 GPUs; {when}; {said}; Python {platform.python_version()}; {_processor()}, one core; "
        f"`--iterations {', '.join(map(str, iterations))}`.", 120, break_on_hyphens=False) + "\n"


def _processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as text:
            found = re.search(r"^model name\s*: (.*)$", text.read(), re.MULTILINE)
    except OSError:
        found = None
    return f"{found.group(1) if found else platform.machine()}, {os.cpu_count()} cores"


def _row(entry, found):
    record, one, parallel, auto = (found.get(key) for key in ("record", "one", "parallel", "auto"))
    cells = [entry["name"], entry["sizes"], _type(entry), str(entry["batch"]), f"{record['ops']:,}",
             f"{record['seconds']:.0f}"]
    cells += [_ms(one), f"{one['peak_bytes'] / 2**30:.1f}" if one else "", _seconds(one)]
    cells += [_ms(parallel), _keeps(found),
              f"{100 * parallel['copied']:.2f}%" if parallel else "", _seconds(parallel)]
    cells += [auto["algorithm"] if auto else "", _ms(auto), _seconds(auto)]
    plans = [plan for plan in (one, parallel, auto) if plan]
    cells.append("yes" if plans and all(plan["holds"] for plan in plans) else
                 f"{sum(plan['holds'] for plan in plans)} of {len(plans)}")
    return "| " + " | ".join(cells) + " |\n"


def _type(entry):
    """Of parameters; "mixed": float32, with products in bf16 under autocast."""
    given = {**entry, **entry.get("set", {})}
    if given.get("mixed"):
        return "mixed"
    default = "float32" if "function" not in entry or "file" in entry else _default(entry["function"], "dtype")
    stated = given.get("dtype") or default or "float32"
    return TYPES.get(stated, stated)


def _default(function, argument):
    """What a function of steps.py takes where an entry leaves the argument out."""
    text = pathlib.Path(__file__).with_name("steps.py").read_text(encoding="utf-8")
    made = next(node for node in ast.parse(text).body
                if isinstance(node, ast.FunctionDef) and node.name == function)
    names = [one.arg for one in made.args.args]
    defaults = dict(zip(names[len(names) - len(made.args.defaults):], made.args.defaults))
    return ast.literal_eval(defaults[argument]) if argument in defaults else None


def _keeps(found):
    if "keeps" not in found:
        return ""
    local = f" ({found['keeps_local']:.2f})" if "keeps_local" in found else ""
    return f"{found['keeps']:.2f}{local}"


def _ms(plan):
    if not plan:
        return ""
    milliseconds = plan["step_ns"] / 1e6
    text = f"{milliseconds:.1f}" if milliseconds < 100 else f"{milliseconds:.0f}"
    return text if plan["feasible"] else text + " (too large)"


def _seconds(plan):
    return f"{plan['seconds']:.1f}" if plan else ""


def _cell(text):
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
