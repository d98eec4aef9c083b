import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import check_tests  # noqa: E402
from tree import tree  # noqa: E402


class CheckTests(unittest.TestCase):
    def test_a_file_with_its_test(self):
        self.assertEqual(check_tests.problems(tree({"steepest/base/a.h": "", "tests/base/a_test.cpp": ""})), [])

    def test_a_file_without(self):
        self.assertEqual(
            check_tests.problems(tree({"steepest/base/a.h": ""})),
            ["steepest/base/a: no tests/base/a_test.cpp, and no reason in tools/untested.txt"])

    def test_a_stated_reason(self):
        files = {"steepest/base/a.h": "", "tools/untested.txt": "steepest/base/a: an enumeration\n"}
        self.assertEqual(check_tests.problems(tree(files)), [])

    def test_no_reason_and_a_stale_one(self):
        files = {"tools/untested.txt": "steepest/base/a:\nsteepest/base/b: gone\n"}
        self.assertEqual(len(check_tests.problems(tree(files))), 3)


if __name__ == "__main__":
    unittest.main()
