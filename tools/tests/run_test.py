#!/usr/bin/env python3
"""The decisions of ./run: what is installed, from where, which libtorch is taken, and which tests run once more.
Programs it calls are replaced by scripts that come first in PATH and write down how they were called."""
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOADER = "x: error while loading shared libraries: libtorch_cpu.so: Cannot allocate memory"


class Run(unittest.TestCase):
    def setUp(self):
        self.tree = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.tree)
        shutil.copy(os.path.join(ROOT, "run"), self.tree)
        self.calls = os.path.join(self.tree, "calls")
        self.bin = os.path.join(self.tree, "bin")
        os.makedirs(self.bin)

    def fake(self, name, body):
        path = os.path.join(self.bin, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/bash\necho "{name} $*" >> "{self.calls}"\n{body}\n')
        os.chmod(path, 0o755)

    def bash(self, script, **environment):
        """Runs lines after sourcing ./run; (status, stdout, stderr)."""
        env = {"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": self.tree, **environment}
        done = subprocess.run(["bash", "-c", f"source {self.tree}/run\n{script}"], env=env, capture_output=True,
                              text=True)
        return done.returncode, done.stdout, done.stderr

    def called(self):
        if not os.path.exists(self.calls):
            return []
        with open(self.calls, encoding="utf-8") as file:
            return file.read().splitlines()

    def torch_in(self, *parts):
        folder = os.path.join(self.tree, *parts, "share", "cmake", "Torch")
        os.makedirs(folder)
        open(os.path.join(folder, "TorchConfig.cmake"), "w", encoding="utf-8").close()
        return os.path.join(self.tree, *parts)


class Packages(Run):
    def setUp(self):
        super().setUp()
        self.fake("dpkg-query", 'for each in "$@"; do case $each in -*|*Package*|mold|gnuplot-nox) ;; '
                                '*) echo "$each installed" ;; esac; done; exit 1')
        self.fake("sudo", "exit 1")

    def test_nothing_is_missing(self):
        self.fake("dpkg-query", 'for each in "$@"; do echo "$each installed"; done')
        self.fake("apt-get", "exit 1")
        self.assertEqual(self.bash("install_packages"), (0, "", ""))

    def test_root_installs_what_is_missing_alone(self):
        self.fake("id", "echo 0")
        self.fake("apt-get", "")
        self.assertEqual(self.bash("install_packages")[0], 0)
        self.assertEqual([each for each in self.called() if each.startswith("apt-get")],
                         ["apt-get update -qq",
                          "apt-get install -y -qq --no-install-recommends mold gnuplot-nox"])

    def test_failures_end_with_the_line_that_helps(self):
        line = "error: packages are missing; install them and run this again: apt-get install mold gnuplot-nox"
        for who, failing in (("0", "update"), ("0", "install"), ("1000", "never")):
            self.fake("id", f"echo {who}")
            self.fake("apt-get", f'[ "$1" != {failing} ]')
            status, _, err = self.bash("install_packages")
            self.assertEqual((status, err.splitlines()[-1].strip()), (2, line), (who, failing))


class Torch(Run):
    def setUp(self):
        super().setUp()
        # A virtual environment's python: the index answers or not, pip fails with --index-url or not.
        self.python = os.path.join(self.tree, "python-of-venv")
        with open(self.python, "w", encoding="utf-8") as file:
            file.write(f"""#!/bin/bash
echo "venv $*" >> "{self.calls}"
case "$*" in
  -c*) exit "${{NO_INDEX:-0}}" ;;
  *--index-url*) exit "${{INDEX_FAILS:-0}}" ;;
  -) mkdir -p .venv/torch/share/cmake; echo .venv/torch/share/cmake ;;
esac
""")
        os.chmod(self.python, 0o755)
        self.fake("python3", f'mkdir -p .venv/bin .venv/lib; cp "{self.python}" .venv/bin/python')
        self.fake("ldd", 'echo "libcudart.so => ${CUDA:-/usr/lib/x}"; seq 100000; exit 1')

    def pips(self):
        return [each.split("torch==", 1)[1] for each in self.called() if "pip install" in each]

    def stamp(self):
        with open(os.path.join(self.tree, ".venv", "lib", "torch-installed"), encoding="utf-8") as file:
            return file.read()

    def test_the_index_of_cpu_builds_comes_first(self):
        status, _, err = self.bash("torch_version=9.9; install_torch")
        self.assertEqual((status, err), (0, "installing libtorch 9.9 into .venv\n"))
        self.assertEqual(self.pips(), ["9.9 --no-deps --index-url https://download.pytorch.org/whl/cpu"])
        self.assertEqual(self.stamp(), "9.9")

    def test_once_installed_is_enough_until_the_version_changes(self):
        self.bash("torch_version=9.9; install_torch; install_torch")
        self.assertEqual(len(self.pips()), 1)
        self.bash("torch_version=9.10; install_torch")
        self.assertEqual((len(self.pips()), self.stamp()), (2, "9.10"))

    def test_plain_name_where_the_index_does_not_answer_or_fails(self):
        self.assertEqual(self.bash("torch_version=9.9; install_torch", NO_INDEX="1")[0], 0)
        self.assertEqual(self.pips(), ["9.9 --no-deps"])
        shutil.rmtree(os.path.join(self.tree, ".venv"))
        self.assertEqual(self.bash("torch_version=9.9; install_torch", INDEX_FAILS="1")[0], 0)
        self.assertEqual(self.pips()[1:], ["9.9 --no-deps --index-url https://download.pytorch.org/whl/cpu",
                                           "9.9 --no-deps"])

    def test_a_cuda_build_gets_its_libraries(self):
        status, _, err = self.bash("torch_version=9.9; install_torch", NO_INDEX="1", CUDA="not found")
        self.assertEqual(status, 0)
        self.assertIn("this wheel is built for CUDA: installing the libraries it needs", err)
        self.assertEqual(self.pips(), ["9.9 --no-deps", "9.9"])

    def test_a_failed_installation_leaves_no_stamp(self):
        self.fake("python3", "exit 1")
        self.assertNotEqual(self.bash("install_torch")[0], 0)
        self.assertFalse(os.path.exists(os.path.join(self.tree, ".venv")))


class TestTools(Run):
    def setUp(self):
        super().setUp()
        self.fake("python3", 'mkdir -p .venv-test/bin .venv-test/lib; '
                             'printf "#!/bin/bash\necho pip \\"\\$@\\" >> calls; exit $PIP" > .venv-test/bin/python; '
                             'chmod +x .venv-test/bin/python')

    def test_tensorboard_is_installed_once_and_apart_from_torch(self):
        script = "tensorboard_version=8.8; install_test_tools; install_test_tools"
        self.assertEqual(self.bash(script, PIP="0"), (0, "", "installing tensorboard 8.8 into .venv-test\n"))
        self.assertEqual(self.called()[1:], ["pip -m pip install --quiet --disable-pip-version-check "
                                             "tensorboard==8.8 setuptools<81"])

    def test_without_it_the_other_tests_still_run(self):
        status, _, err = self.bash("tensorboard_version=8.8; install_test_tools; echo on", PIP="1")
        self.assertEqual(status, 0)
        self.assertIn("tensorboard could not be installed: the test that reads events with it will fail", err)
        self.assertFalse(os.path.exists(os.path.join(self.tree, ".venv-test", "lib", "installed")))

    def test_the_formatter_is_installed_where_the_system_has_another_version(self):
        script = "clang_format_version=1.2; install_clang_format"
        check = os.path.join(self.tree, "tools", "check_format.sh")
        os.makedirs(os.path.dirname(check))
        for found, calls in ((0, []), (1, ["pip -m pip install --quiet --disable-pip-version-check "
                                           "clang-format==1.2"])):
            with open(check, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/bash\nexit {found}\n")
            os.chmod(check, 0o755)
            self.assertEqual(self.bash(script, PIP="0")[0], 0)
            self.assertEqual(self.called()[1:], calls)
        shutil.rmtree(os.path.join(self.tree, ".venv-test"))
        status, _, err = self.bash(script, PIP="1")
        self.assertEqual(status, 0)
        self.assertIn("clang-format could not be installed: the check of the formatting will fail", err)


class Prefix(Run):
    find = 'install_torch() { :; }\ntorch_of_python() { echo /found/share/cmake; }\nfind_torch\n' \
           'echo "$CMAKE_PREFIX_PATH"'

    def test_the_users_own_is_left_alone(self):
        own = self.torch_in("own")
        for prefix in (own, f"/else;{own}", f"/else:{own}", os.path.join(own, "share", "cmake")):
            self.assertEqual(self.bash(self.find, CMAKE_PREFIX_PATH=prefix), (0, f"{prefix}\n", ""), prefix)

    def test_a_prefix_without_libtorch_stays_behind_another(self):
        self.assertEqual(self.bash(self.find, CMAKE_PREFIX_PATH="/opt/stuff"),
                         (0, "/found/share/cmake:/opt/stuff\n",
                          "CMAKE_PREFIX_PATH holds no libtorch (/opt/stuff): another is taken beside it\n"))

    def test_without_a_prefix(self):
        self.assertEqual(self.bash(self.find), (0, "/found/share/cmake\n", ""))

    def test_an_environment_without_libtorch(self):
        self.assertEqual(self.bash("install_torch() { :; }\ntorch_of_python() { :; }\nfind_torch"),
                         (2, "", "error: .venv holds no fitting libtorch; remove .venv and run this again, or set "
                                 "CMAKE_PREFIX_PATH to your libtorch\n"))

    def test_another_prefix_configures_anew_and_forgets_the_old_libtorch(self):
        self.fake("cmake", 'mkdir -p build/asan; touch build/asan/build.ninja')
        script = "mkdir -p build; configure asan; configure asan"
        self.bash(script, CMAKE_PREFIX_PATH="/a")
        self.bash(script, CMAKE_PREFIX_PATH="/b")
        self.assertEqual(self.called(), ["cmake --preset asan -U STEEPEST_TORCH_CONFIG"] * 2)

    def test_a_failed_configuration_shows_its_log(self):
        self.fake("cmake", "echo no compiler; exit 1")
        self.assertEqual(self.bash("mkdir -p build; configure asan", CMAKE_PREFIX_PATH="/a"),
                         (2, "", "no compiler\n"))

    def test_clones_share_the_compilers_cache(self):
        self.assertEqual(self.bash('env | grep CCACHE | sort')[1],
                         f"CCACHE_BASEDIR={self.tree}\nCCACHE_NOHASHDIR=1\n")


class Tests(Run):
    """With ctest itself over a folder that holds tests which fail the first time."""

    def ctest(self, **outputs):
        folder = os.path.join(self.tree, "build")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "CTestTestfile.cmake"), "w", encoding="utf-8") as file:
            for name, output in outputs.items():
                script = f"test -e {self.tree}/{name} && exit 0; touch {self.tree}/{name}; echo '{output}'; exit 127"
                file.write(f'add_test({name} /bin/sh -c [=[{script if output else "true"}]=])\n')
        return self.bash("run_ctest build")

    def test_passing_tests_run_once(self):
        status, out, err = self.ctest(a=None, b=None)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out.count("100% tests passed, 0 tests failed out of 2"), 1)

    def test_the_loader_without_memory_runs_again(self):
        status, out, err = self.ctest(a=LOADER, b=None, c=LOADER)
        self.assertEqual(status, 0)
        self.assertIn("the loader had no memory for 2 of the tests; these are run again\n", err)
        # ctest's closing lines are the last.
        self.assertIn("100% tests passed, 0 tests failed out of 2", out[out.rindex("% tests passed") - 3:])
        self.assertEqual(out.count("% tests passed"), 2)

    def test_any_other_failure_stays(self):
        status, out, err = self.ctest(a=LOADER + "\n" + LOADER, b="1 FAILED TEST")
        self.assertNotEqual(status, 0)
        self.assertNotIn("run again", err)
        self.assertEqual(out.count("tests failed out of 2"), 1)


if __name__ == "__main__":
    unittest.main()
