"""Errors of the package: a class for each exit status, a code for each error."""

import pickle
import re
import unittest

from package_support import EXAMPLE, SOURCE, PackageTest

import placewright as pw
from placewright import _find, errors


class Errors(PackageTest):
    def test_every_code_is_of_the_class_of_its_exit_status(self):
        table = _find.core().error_table()
        defined = re.findall(r'^PW_ERROR\(\w+, "([a-z-]+)", (\d+)',
                             (SOURCE / "include/placewright/base/error_codes.def").read_text(),
                             re.MULTILINE)
        self.assertEqual([(code, str(status)) for code, status, _, _ in table], defined)
        for code, status, meaning, remedy in table:
            error = errors.error_of(status, code, meaning, "", "", remedy)
            self.assertIsInstance(error, pw.PlacewrightError)
            self.assertIsNot(type(error), pw.PlacewrightError)
            self.assertEqual(error.exit_status, status)
            self.assertEqual(type(error) is errors.InternalError, status == 1, code)

    def test_codes_of_python_sources_are_in_the_table(self):
        codes = {code: status for code, status, _, _ in _find.core().error_table()}
        used = []
        for path in (SOURCE / "python" / "placewright").glob("*.py"):
            used += re.findall(r'(\w+Error)\(\s*"([a-z-]+)"', path.read_text())
        self.assertGreater(len(used), 8)
        for kind, code in used:
            if kind == "ApplyError":  # with codes of its own (docs/apply.md)
                continue
            self.assertEqual(getattr(errors, kind).exit_status, codes[code], (kind, code))

    def test_an_error_says_where_what_and_what_to_do(self):
        error = errors.InputError("field", "is 0", file="a.json", place="ops[3]", remedy="Fix it.")
        self.assertEqual(str(error), "a.json: ops[3]: is 0 [field]\nFix it.")
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), str(again)), (type(error), str(error)))
        self.assertEqual(again.place, "ops[3]")

    def test_options_of_the_program_are_arguments_here(self):
        error = errors.error_of(2, "usage", "--algo x takes no --init, kPlaced", "", "",
                                "Leave --init out; see --help and a--pin.")
        self.assertEqual(error.message, 'algorithm x takes no initial, "placed"')
        self.assertEqual(error.remedy, "Leave initial out; see --help and a--pin.")

    def test_every_exception_says_where_and_what_to_do(self):
        text, empty = self.written("a.txt", "no graph"), self.written("b.json", "")
        calls = [
            (pw.read, ["/dev/null"], {}), (pw.read, [text], {}), (pw.read, [empty], {}),
            (pw.read, [self.folder / "nowhere"], {}),
            (pw.plan, ["/dev/null", "8xH100"], {}), (pw.plan, [EXAMPLE, "8xH10"], {}),
            (pw.plan, [EXAMPLE, text], {}), (pw.plan, [EXAMPLE, 3], {}),
            (pw.plan, [EXAMPLE, "4xP100"], {"algorithm": "fsdpp"}),
            (pw.plan, [EXAMPLE, "4xP100"], {"algorithm": "fsdp", "space": "placed"}),
            (pw.plan, [EXAMPLE, "4xP100"], {"algorithm": "fsdp", "settings": {"x": 1}}),
            (pw.plan, [EXAMPLE, "4xP100"], {"algorithm": "heft", "initial": {"x": "y"}}),
            (pw.plan, [EXAMPLE, "4xP100"], {"order": "x"}),
            (pw.plan, [EXAMPLE, "4xP100"], {"space": "x"}),
            (pw.plan, [EXAMPLE, "4xP100"], {"precision": "x"}),
            (pw.plan, [EXAMPLE, "4xP100"], {"cost_profile": "x"}),
            (pw.plan, [EXAMPLE, "4xP100"], {"pin": {"x": "y"}}),
            (pw.plan, [EXAMPLE, "4xP100"], {"layouts": text}),
            (pw.plan, [EXAMPLE, "4xP100"], {"time": "soon"}),
            (pw.plan, [EXAMPLE, "4xP100"], {"micro_batches": 5}),
            (pw.plan, [EXAMPLE, "4xP100"], {"algorithm": "1f1b", "stages": 9}),
            (pw.plan, [EXAMPLE, self.two_gpus(400)], {"iterations": 20}),
            (pw.compare, [EXAMPLE, "8xH10"], {}), (pw.simulate, [text], {}),
            (pw.check, ["/dev/null"], {}), (pw.check, [EXAMPLE], {}),
            (pw.explain, ["nothing-at-all"], {}),
        ]
        for function, given, named in calls:
            with self.subTest(function.__name__, given=given, named=named):
                with self.assertRaises(pw.PlacewrightError) as caught:
                    function(*given, **named)
                self.assertNotIsInstance(caught.exception, errors.InternalError)
                self.assertTrue(caught.exception.place, repr(caught.exception))
                self.assertTrue(caught.exception.remedy, repr(caught.exception))

    def test_places_are_arguments(self):
        for call, place in [(lambda: pw.plan(EXAMPLE, "8xH10"), "argument cluster"),
                            (lambda: pw.compare(EXAMPLE, "8xH10"), "argument cluster"),
                            (lambda: pw.plan(EXAMPLE, "4xP100", algorithm="fsdpp"),
                             "argument algorithm"),
                            (lambda: pw.read("/dev/null"), "/dev/null")]:
            with self.assertRaises(pw.PlacewrightError) as caught:
                call()
            self.assertEqual(caught.exception.place, place, str(caught.exception))

    def test_usage_errors_are_value_errors(self):
        with self.assertRaises(ValueError):
            pw.plan(3, "4xP100")


if __name__ == "__main__":
    unittest.main()
