"""Errors of the package: a class for each exit status, a code for each error."""

import pickle
import re
import unittest

from package_support import SOURCE, PackageTest

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

    def test_usage_errors_are_value_errors(self):
        with self.assertRaises(ValueError):
            pw.plan(3, "4xP100")


if __name__ == "__main__":
    unittest.main()
