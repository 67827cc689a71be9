"""Training begins from PyTorch's models, and PyTorch takes Troupe's back.

    /usr/bin/python3 tests/scripts/python/torch_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...

tests/reference/torch/state_dicts.py trained the models of state_dicts.json a little, by PyTorch. Where PyTorch is installed,
a model of its own goes there and back as well.
"""

import json
import os
import sys
import tempfile

try:
    import numpy
    import sklearn  # noqa: F401
except ImportError as problem:
    print(f"skipped: {problem}")
    sys.exit(77)

sys.path.insert(0, f"{sys.path[0]}/..")
from command import BUILD, SOURCE, CommandTest, main

sys.path.insert(0, str(BUILD / "python"))
import troupe

REFERENCE = json.loads((SOURCE / "tests/reference/torch/state_dicts.json").read_text(encoding="utf-8"))


def tensors_of(case, when):
    return {one["name"]: numpy.array(one["values"], numpy.float32).reshape(one["shape"]) for one in case[when]}


def options_of(case):
    layers = {} if case["layers"] is None else {"layers": case["layers"], "hidden": ()}
    shape = {} if case["shape"] is None else {"shape": tuple(case["shape"])}
    return {"hidden": (), **layers, **shape, "optimizer": "sgd", "learning_rate": REFERENCE["rate"], "batch_size": 0,
            "epochs": REFERENCE["epochs"], "standardize": False}


class StateDictTest(CommandTest):
    def started(self, case, **changes):
        path = os.path.join(tempfile.mkdtemp(dir=self.folder), "start.safetensors")
        troupe.save_tensors(path, tensors_of(case, "before"))
        start = {"path": path, "names": case["names"]}
        model = troupe.TroupeClassifier(start_from=start, **{**options_of(case), **changes})
        return model.fit(numpy.array(case["rows"], numpy.float32), numpy.array(case["labels"]))

    def test_steps_and_predictions_are_pytorchs(self):
        for case in REFERENCE["cases"]:
            rows = numpy.array(case["rows"], numpy.float32)
            for options, expected in ((dict(learning_rate=1e-12, epochs=1), 0), ({}, 1)):
                model = self.started(case, **options)
                with self.subTest(case["name"], after=expected):
                    numpy.testing.assert_allclose(model.predict_proba(rows), case["predictions"][expected], atol=1e-5)

    def test_tensors_go_back_in_pytorchs_order_and_names(self):
        for case in REFERENCE["cases"]:
            model = self.started(case)
            before, after = tensors_of(case, "before"), tensors_of(case, "after")
            found = model.state_dict(like=before, names=case["names"])
            with self.subTest(case["name"]):
                self.assertEqual(list(found), list(after))
                for name, values in after.items():
                    numpy.testing.assert_allclose(found[name], values, atol=1e-5, err_msg=name)
                    self.assertGreater(numpy.abs(values - before[name]).max(), 1e-4, f"{name} learned nothing")

    def test_replicas_do_not_show(self):
        case = REFERENCE["cases"][2]
        shas = {self.started(case, slices=4, replicas=n).parameters_sha256_ for n in (1, 2, 4)}
        self.assertEqual(len(shas), 1)

    def test_names_of_troupe_without_another_model(self):
        convolutional = REFERENCE["cases"][2]
        found = self.started(convolutional).state_dict()
        self.assertEqual(found["layers.0.weight"].shape, (3, 3, 3, 3))
        self.assertEqual(found["layers.2.weight"].shape, (4, 3, 2, 2))
        numpy.testing.assert_allclose(found["layers.2.weight"], tensors_of(convolutional, "after")["3.weight"], atol=1e-5)
        numpy.testing.assert_allclose(found["layers.3.weight"], tensors_of(convolutional, "after")["6.weight"], atol=1e-5)

    def test_what_does_not_match_is_said_with_a_table(self):
        deep = REFERENCE["cases"][1]
        with self.assertRaisesRegex(ValueError, r'(?s)"layers.1.weight" = "2.weight".*"layers.2.weight" = "4.weight"'):
            self.started({**deep, "names": {}})
        with self.assertRaisesRegex(ValueError, "no given tensor is called \"fc9\""):
            self.started({**deep, "names": {"layers.0.weight": "fc9"}})
        model = self.started(deep)
        other = {name: values for name, values in tensors_of(deep, "after").items() if name != "0.weight"}
        with self.assertRaisesRegex(ValueError, "layers.0.weight"):
            model.state_dict(like=other, names={**deep["names"]})

    def test_frozen_tensors_stay_and_others_learn(self):
        case = REFERENCE["cases"][2]
        model = self.started(case, freeze=["layers.0.*", "layers.2.bias"], optimizer="adam")
        before = tensors_of(case, "before")
        found = model.state_dict(like=before, names=case["names"])
        for name, values in before.items():
            same = numpy.array_equal(found[name], values)
            self.assertEqual(same, name in ("0.weight", "0.bias", "3.bias"), name)

    def test_fresh_tensors_begin_by_the_seed(self):
        case = REFERENCE["cases"][1]
        path = os.path.join(self.folder, "other_head.safetensors")
        tensors = {name: values for name, values in tensors_of(case, "before").items() if not name.startswith("6.")}
        troupe.save_tensors(path, {**tensors, "old.weight": numpy.zeros((9, 6)), "steps": numpy.zeros(())})
        shas = set()
        for seed in (0, 1):
            model = troupe.TroupeClassifier(random_state=seed, start_from={
                "path": path, "names": case["names"], "fresh": ["layers.3.*"], "ignore": ["old.*", "steps"]},
                **{**options_of(case), "learning_rate": 1e-12})
            model.fit(numpy.array(case["rows"], numpy.float32), numpy.array(case["labels"]))
            shas.add(model.parameters_sha256_)
            found = model.state_dict()
            numpy.testing.assert_allclose(found["layers.1.weight"], tensors["2.weight"], atol=1e-9)
            self.assertGreater(numpy.abs(found["layers.3.weight"]).max(), 0.01)
        self.assertEqual(len(shas), 2)

    def test_a_model_of_pytorch_goes_there_and_back(self):
        try:
            import torch
        except ImportError as problem:
            self.skipTest(str(problem))
        torch.manual_seed(3)
        net = torch.nn.Sequential(torch.nn.Conv2d(2, 5, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(80, 3))
        images = torch.randn(40, 2, 6, 6)
        rows = images.permute(0, 2, 3, 1).reshape(40, -1).numpy()
        labels = numpy.arange(40) % 3
        path = os.path.join(self.folder, "net.safetensors")
        troupe.save_tensors(path, net.state_dict())
        model = troupe.TroupeClassifier(layers="convolution channels=5 activation=relu", shape=(6, 6, 2), epochs=1,
                                        standardize=False, start_from=path)
        model.fit(rows, labels)
        net.load_state_dict(model.state_dict(net.state_dict()))
        with torch.no_grad():
            expected = torch.softmax(net(images), 1).numpy()
        numpy.testing.assert_allclose(model.predict_proba(rows), expected, atol=1e-5)


if __name__ == "__main__":
    main()
