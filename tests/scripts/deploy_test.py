"""The recipes of examples/deploy: what can run here is run, of the rest the form is checked.

    python3 tests/scripts/deploy_test.py BUILD_FOLDER SOURCE_FOLDER
"""

import json
import os
import re
import shutil
import unittest

from cluster_run import cluster_text, nodes_on_loopback, trained_alone
from command import JOB, SOURCE, TROUPE, CommandTest, finished
from patience import HANG

DEPLOY = os.path.join(SOURCE, "examples", "deploy")
RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "TROUPE_NODE_INDEX")
EPOCHS = 3
# What starts these tests may itself be a process of some launcher.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in RANKS}


class Ranks(CommandTest):
    """Processes that are started alike take their nodes by number."""

    @classmethod
    def setUpClass(cls):
        cls.alone = trained_alone(JOB, [f"training.epochs={EPOCHS}"])

    def write_cluster(self):
        nodes = nodes_on_loopback([(1, 1)] * 3)
        return self.write("cluster.toml", cluster_text(nodes, f"[training]\nepochs = {EPOCHS}\n"))

    def expect_whole_run(self, output, nodes=3):
        result = json.loads(output)
        self.assertEqual(result["parameters_sha256"], self.alone["parameters_sha256"])
        self.assertEqual(result["nodes"], nodes)

    def test_every_rank_is_another_node(self):
        cluster = self.write_cluster()
        running = [self.start(TROUPE, "node", cluster, "--json", "--quiet", stderr=None,
                              env={**ENVIRONMENT, variable: str(rank)}) for rank, variable in enumerate(RANKS[:3])]
        outputs = [one.communicate(timeout=HANG)[0] for one in running]
        self.assertEqual([one.returncode for one in running], [0, 0, 0])
        self.expect_whole_run(outputs[0])
        self.assertEqual(outputs[1:], ["", ""])

    def test_rank_without_a_node_is_refused(self):
        run = self.troupe("node", self.write_cluster(), env={**ENVIRONMENT, "PMI_RANK": "3"}, code=2)
        self.assertIn("PMI_RANK: this is process 3 (counted from 0), and the cluster has 3 nodes",
                      run.stderr)

    @unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun")
    def test_mpirun_starts_all_nodes(self):
        mpirun = "mpirun --oversubscribe --bind-to none --mca btl self,tcp --mca plm isolated"
        if os.getuid() == 0:
            mpirun += " --allow-run-as-root"
        run = finished(os.path.join(DEPLOY, "mpi.sh"), self.write_cluster(), "--json", "--quiet", cwd=self.folder,
                       env={**ENVIRONMENT, "TROUPE": TROUPE, "MPIRUN": mpirun})
        self.expect_whole_run(run.stdout)

    def test_slurm_script_writes_a_cluster_of_its_hosts(self):
        """With stand-ins for Slurm's commands: srun only says what it was given."""
        tools = self.folder / "bin"
        tools.mkdir()
        for name, text in (("scontrol", 'echo "$3" | tr , "\\n"'), ("srun", 'echo "$@"')):
            os.chmod(self.write(f"bin/{name}", "#!/bin/sh\n" + text + "\n"), 0o755)
        run = finished("bash", os.path.join(DEPLOY, "slurm.sh"), JOB, "--quiet", cwd=self.folder, env={
            **ENVIRONMENT, "PATH": f"{tools}:" + os.environ["PATH"], "SLURM_JOB_ID": "17",
            "SLURM_JOB_NODELIST": "n1.example,n2.example", "SLURM_CPUS_PER_TASK": "8"})
        cluster = self.folder / "troupe-17.toml"
        self.assertIn(f"troupe node {cluster} --resume --quiet", run.stdout)
        shown = self.troupe("config", "show", cluster)
        self.assertEqual(re.findall(r'^name = "(n\d)"', shown.stdout, re.MULTILINE), ["n1", "n2"])
        self.assertIn('address = "n2.example:7400"', shown.stdout)


class Forms(CommandTest):
    """What only other machines can run."""

    def test_scripts_are_shell(self):
        scripts = [name for name in os.listdir(DEPLOY) if name.endswith(".sh")]
        self.assertGreaterEqual(len(scripts), 3)
        for name in scripts:
            path = os.path.join(DEPLOY, name)
            self.assertTrue(os.access(path, os.X_OK), name)
            finished("bash", "-n", path)
            if shutil.which("shellcheck"):
                finished("shellcheck", path)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd-analyze")
    def test_unit_is_one_for_systemd(self):
        text = self.read(DEPLOY, "systemd", "troupe-node@.service")
        self.assertIn("ExecStart=/usr/bin/troupe ", text)
        unit = self.write("troupe-node@main.service", text.replace("/usr/bin/troupe ", f'"{TROUPE}" '))
        run = finished("systemd-analyze", "verify", "--man=no", unit, code=None)
        problems = [line for line in run.stderr.splitlines() if "troupe-node" in line]
        self.assertEqual(problems, [])

    def test_unit_starts_again_only_what_may_work_then(self):
        unit = self.read(DEPLOY, "systemd", "troupe-node@.service")
        prevented = re.search(r"^RestartPreventExitStatus=(.*)$", unit, re.MULTILINE)[1].split()
        codes = set(re.findall(r"^\| (\d+) \| `", self.read(SOURCE, "docs", "command-line.md"), re.MULTILINE))
        self.assertTrue(set(prevented) <= codes, "codes that the command has")
        for code in ("69", "70", "74"):
            self.assertNotIn(code, prevented)

    def test_image_is_made_of_what_there_is(self):
        text = re.sub(r"\\\n", " ", self.read(DEPLOY, "Dockerfile"))
        words = {line.split()[0] for line in text.splitlines()
                 if line.strip() and not line.startswith("#")}
        self.assertTrue(words <= {"FROM", "COPY", "WORKDIR", "RUN", "USER", "ENTRYPOINT"}, words)
        self.assertTrue(os.access(os.path.join(SOURCE, "scripts", "install-dependencies"), os.X_OK))
        names = [one["name"] for one in json.loads(self.read(SOURCE, "CMakePresets.json"))["configurePresets"]]
        self.assertIn(re.search(r"cmake --preset (\w+)", text)[1], names)

    def expect_manifest(self, name):
        """What the manifests have in common; its parts by their kinds, and how its cluster file is read."""
        try:
            import yaml
        except ImportError:
            self.skipTest("there is no python3-yaml")
        parts = {part["kind"]: part for part in yaml.safe_load_all(self.read(DEPLOY, "kubernetes", name))}
        pods, service = parts["StatefulSet"]["spec"], parts["Service"]["spec"]
        self.assertEqual(pods["serviceName"], parts["Service"]["metadata"]["name"])
        self.assertEqual(service["clusterIP"], "None")
        self.assertEqual(parts["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
                         service["selector"])
        self.assertEqual(parts["NetworkPolicy"]["spec"]["ingress"][0]["ports"],
                         [{"port": service["ports"][0]["port"]}])
        for kind in {"StatefulSet", "Deployment"} & set(parts):
            spec = parts[kind]["spec"]
            labels = spec["template"]["metadata"]["labels"]
            self.assertEqual(spec["selector"]["matchLabels"], labels)
            self.assertEqual({**labels, **service["selector"]}, labels)
        container = pods["template"]["spec"]["containers"][0]
        self.assertEqual({mount["name"] for mount in container["volumeMounts"]},
                         {"configuration", "state"})
        self.assertEqual(container["readinessProbe"]["exec"]["command"][:2], ["troupe", "status"])
        self.write("cluster.toml", parts["ConfigMap"]["data"]["cluster.toml"])
        shown = self.troupe("config", "show", "cluster.toml").stdout
        self.assertEqual(re.findall(r'^name = "(troupe-\d)"$', shown, re.MULTILINE),
                         [f"troupe-{i}" for i in range(pods["replicas"])])
        return parts, shown

    def test_kubernetes_manifest_holds_together(self):
        parts, shown = self.expect_manifest("troupe.yaml")
        self.assertIn(f'"troupe-1.{parts["StatefulSet"]["spec"]["serviceName"]}:7400"', shown)

    def test_kubernetes_manifest_of_workers_that_come_and_go(self):
        parts, shown = self.expect_manifest("elastic.yaml")
        workers = parts["Deployment"]["spec"]
        self.assertNotEqual(workers["selector"], parts["StatefulSet"]["spec"]["selector"])
        pod = workers["template"]["spec"]
        self.assertIn('listen = "0.0.0.0:7400"', shown.split("[join]")[1])
        leave = re.search(r'^leave = "(\d+)s"$', shown, re.MULTILINE)
        self.assertGreater(pod["terminationGracePeriodSeconds"], int(leave[1]))
        self.assertEqual(pod["containers"][0]["args"], ["node", "/etc/troupe/cluster.toml"])


if __name__ == "__main__":
    unittest.main(argv=["deploy_test"], verbosity=1)
