#!/usr/bin/env python3
"""check_format.sh finds a file that is not formatted, names it, and mends it with --fix."""
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOOD = "int twice(int x) { return 2 * x; }\n"
BAD = "int twice( int x ){return 2*x;}\n"


def version():
    text = subprocess.run(["clang-format", "--version"], capture_output=True, text=True, check=True).stdout
    return int("".join(c if c.isdigit() else " " for c in text).split()[0])


class CheckFormat(unittest.TestCase):
    def setUp(self):
        self.tree = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.tree)
        shutil.copy(os.path.join(ROOT, ".clang-format"), self.tree)
        os.makedirs(os.path.join(self.tree, "steepest", "base"))

    def write(self, text):
        with open(os.path.join(self.tree, "steepest", "base", "twice.cpp"), "w", encoding="utf-8") as file:
            file.write(text)

    def run_tool(self, *arguments):
        return subprocess.run(["bash", os.path.join(ROOT, "tools", "check_format.sh"), *arguments],
                              env={**os.environ, "STEEPEST_TREE": self.tree}, capture_output=True, text=True)

    def test_formatted_tree_passes(self):
        self.write(GOOD)
        done = self.run_tool()
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_other_tree_is_named_and_fails(self):
        self.write(BAD)
        done = self.run_tool()
        self.assertIn("steepest/base/twice.cpp:1", done.stdout)
        # Only the version the project is formatted with decides.
        self.assertEqual(done.returncode, 1 if version() == 14 else 0)

    def test_fix_mends(self):
        self.write(BAD)
        self.assertEqual(self.run_tool("--fix").returncode, 0)
        with open(os.path.join(self.tree, "steepest", "base", "twice.cpp"), encoding="utf-8") as file:
            self.assertEqual(file.read(), GOOD)


if __name__ == "__main__":
    unittest.main()
