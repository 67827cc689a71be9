"""Prints the coefficients of `elementary::erfcx`, highest power first, as hexadecimal doubles.

    /usr/bin/python3 tests/reference/erfcx.py         (needs python3-mpmath)

(t + 3) e^(t^2) erfc(t) as a polynomial of degree 18 in y = (t - 3) / (t + 3), y in [-1, 1]:
interpolation in Chebyshev's points with 50 digits, then written in powers of y.
"""

from mpmath import cos, erfc, exp, mp, mpf, pi, sqrt

mp.dps = 50
SHIFT = 3
DEGREE = 18
POINTS = 80


def scaled(y):
    t = SHIFT * (1 + y) / (1 - y)
    if t > 10000:  # the asymptotic series: e^(t^2) would have thousands of digits
        tail = 1 - 1 / (2 * t**2) + 3 / (4 * t**4) - 15 / (8 * t**6)
        return (t + SHIFT) / (t * sqrt(pi)) * tail
    return (t + SHIFT) * exp(t * t) * erfc(t)


def chebyshev_coefficients():
    angles = [pi * (k + mpf(1) / 2) / POINTS for k in range(POINTS)]
    values = [scaled(cos(angle)) for angle in angles]
    return [(2 if j else 1) * sum(v * cos(j * a) for v, a in zip(values, angles)) / POINTS
            for j in range(DEGREE + 1)]


def in_powers(coefficients):
    result = [mpf(0)] * len(coefficients)
    before, now = [], [mpf(1)]
    for j, coefficient in enumerate(coefficients):
        for i, value in enumerate(now):
            result[i] += coefficient * value
        # T_(j+1) = 2 y T_j - T_(j-1), where T_1 = y lacks the 2
        after = [mpf(0)] + [(2 if j else 1) * value for value in now]
        for i, value in enumerate(before):
            after[i] -= value
        before, now = now, after
    return result


for power in reversed(in_powers(chebyshev_coefficients())):
    print(float(power).hex())
