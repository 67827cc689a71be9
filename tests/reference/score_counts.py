"""AUC, calibration error and Brier scores of made-up probabilities, by NumPy in double, from their
definitions: AUC by comparing all pairs, ties 1/2.

    /usr/bin/python3 tests/reference/score_counts.py     (python3-numpy; writes score_counts.json)

With scikit-learn installed the figures are held against its own, too.
"""

import pathlib

import numpy

import compact_json

ROWS, BINS = 240, 15


def auc(scores, own):
    wins = scores[own][:, None] - scores[~own][None, :]
    return float(numpy.mean((wins > 0) + 0.5 * (wins == 0)))


def average_precision(probabilities, is_of_class):
    """The precision at each threshold, weighted by the recall that it adds."""
    area = found = 0.0
    for threshold in numpy.unique(probabilities)[::-1]:
        taken = probabilities >= threshold
        right = numpy.sum(taken & is_of_class)
        area += (right - found) / is_of_class.sum() * right / taken.sum()
        found = right
    return float(area)


def calibration_error(probabilities, labels):
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == labels
    places = numpy.clip(numpy.ceil(confidence * BINS) - 1, 0, BINS - 1)
    return float(sum(numpy.sum(places == k) / len(labels)
                     * abs(right[places == k].mean() - confidence[places == k].mean())
                     for k in range(BINS) if numpy.any(places == k)))


def case(random, classes, sharpness):
    labels = random.integers(0, classes, ROWS)
    scores = random.normal(0, sharpness, (ROWS, classes))
    scores[numpy.arange(ROWS), labels] += 0.7 * sharpness
    powers = numpy.exp(scores - scores.max(axis=1, keepdims=True))
    probabilities = (powers / powers.sum(axis=1, keepdims=True)).astype(numpy.float32)
    doubles = probabilities.astype(float)
    truth = numpy.eye(classes)[labels]
    brier = numpy.mean(numpy.sum((doubles - truth) ** 2, axis=1))
    result = {"classes": classes, "labels": labels.tolist(), "probabilities": probabilities,
              "auc": [auc(doubles[:, c], labels == c) for c in range(classes)],
              "average_precision": [average_precision(doubles[:, c], labels == c) for c in range(classes)],
              "calibration_error": calibration_error(doubles, labels),
              "brier": float(brier / 2 if classes == 2 else brier)}
    hold_against_scikit_learn(result, doubles, labels)
    return result


def hold_against_scikit_learn(result, probabilities, labels):
    try:
        from sklearn import metrics
    except ImportError:
        return
    for c, figure in enumerate(result["auc"]):
        assert abs(metrics.roc_auc_score(labels == c, probabilities[:, c]) - figure) < 1e-12
    for c, figure in enumerate(result["average_precision"]):
        assert abs(metrics.average_precision_score(labels == c, probabilities[:, c]) - figure) < 1e-12
    if result["classes"] == 2:
        assert abs(metrics.brier_score_loss(labels, probabilities[:, 1]) - result["brier"]) < 1e-6


def main():
    random = numpy.random.default_rng(11)
    compact_json.write(pathlib.Path(__file__).with_suffix(".json"),
                       {"cases": [case(random, 2, 1.5), case(random, 2, 9.0), case(random, 4, 2.0)]})


if __name__ == "__main__":
    main()
