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


class CheckFormat(unittest.TestCase):
    def setUp(self):
        self.tree = os.path.realpath(tempfile.mkdtemp())
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
        self.assertIn("tools/check_format.sh --fix", done.stderr)
        self.assertEqual(done.returncode, 1)

    def fake(self, folder, name, says):
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/bash\nif [ "$1" = --version ]; then echo "{says}"; exit; fi\necho "$0 $*"; exit 1\n')
        os.chmod(path, 0o755)
        return path

    def run_with(self, *names):
        """The tool of a copy of the project where the system has only these programs."""
        copy = os.path.join(self.tree, "copy")
        os.makedirs(os.path.join(copy, "tools"), exist_ok=True)
        shutil.copy(os.path.join(ROOT, "tools", "check_format.sh"), os.path.join(copy, "tools"))
        path = os.path.join(self.tree, "bin")
        os.makedirs(path, exist_ok=True)
        for each in ("bash", "grep", "head", "dirname", "find", "sort"):
            if not os.path.exists(os.path.join(path, each)):
                os.symlink(shutil.which(each), os.path.join(path, each))
        for name, says in names:
            self.fake(path, name, says)
        done = subprocess.run(["bash", os.path.join(copy, "tools", "check_format.sh"), "--find"],
                              env={"PATH": path}, capture_output=True, text=True)
        return done.returncode, done.stdout.strip(), done.stderr

    def test_another_version_is_no_judge(self):
        status, out, err = self.run_with(("clang-format", "Ubuntu clang-format version 18.1.3"))
        self.assertEqual((status, out), (2, ""))
        self.assertIn("there is no clang-format 14; 'clang-format' is version 18; other versions format differently; "
                      "`./run test` installs it", err)
        status, out, err = self.run_with()
        self.assertEqual((status, out), (2, ""))

    def test_the_pinned_version_is_found_wherever_it_is(self):
        other = ("clang-format", "clang-format version 18.1.3")
        own = self.fake(os.path.join(self.tree, "copy", ".venv-test", "bin"), "clang-format",
                        "clang-format version 14.0.6")
        self.assertEqual(self.run_with(other), (0, os.path.realpath(own), ""))
        self.assertEqual(self.run_with(other, ("clang-format-14", "Debian clang-format version 14.0.6")),
                         (0, "clang-format-14", ""))

    def test_fix_mends(self):
        self.write(BAD)
        self.assertEqual(self.run_tool("--fix").returncode, 0)
        with open(os.path.join(self.tree, "steepest", "base", "twice.cpp"), encoding="utf-8") as file:
            self.assertEqual(file.read(), GOOD)


if __name__ == "__main__":
    unittest.main()
