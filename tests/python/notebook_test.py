"""The trial notebook runs from its top, and shows what is committed with it.

    notebook_test.py [--write]     --write: commits what a run shows
"""

import pathlib
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
NOTEBOOK = SOURCE / "examples" / "trial.ipynb"
SKIPPED = 77  # ctest's SKIP_RETURN_CODE

try:
    import ipykernel  # noqa: F401
    import nbclient
    import nbformat
    import torch  # noqa: F401
except ImportError as missing:
    print(f"SKIPPED: {sys.executable} has not all of nbclient, ipykernel and PyTorch: {missing}")
    sys.exit(SKIPPED)

import package_support  # noqa: E402, F401  (ends the test where the package's core is not built)


def executed():
    """The notebook with the outputs of a run, in a folder of its own."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    path = f"import sys; sys.path.insert(0, {str(SOURCE / 'python')!r})"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(path))
    with tempfile.TemporaryDirectory() as folder:
        nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3",
                                resources={"metadata": {"path": folder}}).execute()
    del notebook.cells[0]
    count = 0
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = count
    return notebook


def text_of(cell):
    return "".join(output.get("text", "") for output in cell.outputs)


class NotebookTest(unittest.TestCase):
    maxDiff = None

    def test_shows_what_is_committed(self):
        """Cells tagged "repeats" print the same; the others have outputs of the same kinds."""
        committed, found = nbformat.read(NOTEBOOK, as_version=4), executed()
        compared = 0
        for before, now in zip(committed.cells, found.cells, strict=True):
            if before.cell_type != "code":
                continue
            with self.subTest(cell=before.source):
                self.assertEqual([one.output_type for one in now.outputs],
                                 [one.output_type for one in before.outputs])
                for one, other in zip(before.outputs, now.outputs, strict=True):
                    self.assertEqual(set(one.get("data", {})), set(other.get("data", {})))
                if "repeats" in before.metadata.get("tags", ()):
                    self.assertEqual(text_of(now), text_of(before))
                    compared += bool(text_of(before))
        self.assertEqual(compared, 5)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        nbformat.write(executed(), NOTEBOOK)
    else:
        unittest.main()
