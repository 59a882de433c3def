#!/usr/bin/env python3
"""Derives the polynomials of src/compiler/math. Developer's tool (needs mpmath); the build does not run it.

Usage: minimax.py [NAME...]      prints, for every (named) polynomial, its coefficients as C constants, constant term first, and
                                 the weighted maximal error that is left after the coefficients were rounded to float.
       minimax.py --check src/compiler/math [NAME...]     says which of them are not what the sources have

Method: Remez' second algorithm (E. Ya. Remez, 1934; multi-point exchange as in W. Fraser and J. F. Hart, "On the computation
of rational approximations to continuous functions", CACM 5, 1962) on a Chebyshev grid, in 60 digits. The problem is
min over p of max |w(x) (g(x) - p(x))|. Coefficients are rounded to 24 bits one by one, constant term first, and the
remaining ones are fitted again after each, so that they absorb the rounding (the idea of N. Brisebarre and S. Chevillard,
"Efficient polynomial L-infinity approximations", ARITH 2007, without the lattice)."""
import re
import struct
import sys
from pathlib import Path
from mpmath import mp, mpf, matrix, lu_solve, log, exp, sqrt, pi, cos, sin, asin, atan, atanh, cosh, sinh, expm1, cbrt
from mpmath import erf, erfc, gamma, loggamma, euler

mp.dps = 60
LN2 = log(2)


def to_float(x):
    """Nearest binary32 (through binary64: the double rounding is harmless for coefficients)."""
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def remez(g, w, xs, powers, fixed):
    """Coefficients for `powers` beside the fixed part (a dict power -> coefficient), and the maximal weighted error."""
    rest = [gi - sum(c * x**k for k, c in fixed.items()) for gi, x in zip(g, xs)]
    n, count = len(powers), len(xs)
    if n == 0:
        return [], max(abs(wi * r) for wi, r in zip(w, rest))
    table = [[x**k for k in powers] for x in xs]
    nodes = [round((count - 1) * (1 - float(cos(pi * i / n))) / 2) for i in range(n + 1)]
    best = None
    for _ in range(25):
        a, b = matrix(n + 1, n + 1), matrix(n + 1, 1)
        for row, i in enumerate(nodes):
            for k in range(n):
                a[row, k] = table[i][k]
            a[row, n] = (-1) ** row / w[i]
            b[row] = rest[i]
        solution = lu_solve(a, b)
        c = [solution[k] for k in range(n)]
        e = [wi * (r - sum(ci * t for ci, t in zip(c, ti))) for wi, r, ti in zip(w, rest, table)]
        worst = max(abs(v) for v in e)
        if best is None or worst < best[1]:
            best = (c, worst)
        if worst <= abs(solution[n]) * mpf("1.001"):
            break
        # One extremum per run of equal sign, then the n + 1 neighbouring runs with the largest errors.
        runs = []
        for i, v in enumerate(e):
            if runs and (e[runs[-1]] > 0) == (v > 0):
                if abs(v) > abs(e[runs[-1]]):
                    runs[-1] = i
            else:
                runs.append(i)
        while len(runs) > n + 1:
            runs.pop(0 if abs(e[runs[0]]) < abs(e[runs[-1]]) else -1)
        if len(runs) < n + 1:
            break
        nodes = runs
    return best


def fit(g, lo, hi, degree, weight, keep=()):
    """Rounded coefficients of a polynomial of `degree`; those in `keep` (indices) stay unrounded (split into two floats)."""
    count = 60 * (degree + 2)
    xs = [(lo + hi) / 2 + (hi - lo) / 2 * cos(pi * (2 * i + 1) / (2 * count)) for i in range(count)][::-1]
    gs, ws = [g(x) for x in xs], [weight(x) for x in xs]
    def error_of(c):
        return max(abs(w * (v - sum(ck * x**k for k, ck in c.items()))) for v, w, x in zip(gs, ws, xs))

    def rounded(k, c):
        high = to_float(c)
        return high + to_float(c - high) if k in keep else high

    fixed, powers = {}, list(range(degree + 1))
    plain = None
    while powers:
        c, _ = remez(gs, ws, xs, powers, fixed)
        if plain is None:
            plain = {k: rounded(k, ck) for k, ck in zip(powers, c)}
        k = powers.pop(0)
        fixed[k] = rounded(k, c[0])
    # Powers without the constant are no Haar system around 0, so the repeated fit may fail there: take the better one.
    best = min(fixed, plain, key=error_of)
    return [best[k] for k in sorted(best)], error_of(best)


R = LN2 / 2 * mpf("1.002")         # reduced argument of exp
F0, F1 = sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1   # m - 1 for the mantissa m of logarithms
Q = pi / 4 * mpf("1.0005")
ln10, log2e = log(10), 1 / LN2


def log1p(f):
    return log(1 + f)


def erfcx(x):
    return exp(x * x) * erfc(x)


def top(r):
    """Fast exponentials also meet r in (1/2, 1], at the very end of their range, where the specification allows much more."""
    return mpf(1) if r <= mpf("0.5015") else mpf(1) / 64


POLYNOMIALS = {
    # name: (function, low, high, degree, weight)
    "expm1": (lambda r: (expm1(r) - r) / r**2, -R, R, 4, lambda r: r**2 / abs(expm1(r))),
    "exp_fast": (lambda r: expm1(r) / r, -R, LN2, 5, lambda r: abs(r) / exp(r) * top(r / LN2)),
    "exp2": (lambda r: expm1(r * LN2) / r, -mpf("0.501"), mpf("0.501"), 5, lambda r: abs(r) / 2**r),
    "exp2_fast": (lambda r: expm1(r * LN2) / r, -mpf("0.501"), mpf(1), 5, lambda r: abs(r) / 2**r * top(r)),
    "exp10": (lambda r: expm1(r * ln10) / r, -R / ln10, R / ln10, 5, lambda r: abs(r) / 10**r),
    "exp10_fast": (lambda r: expm1(r * ln10) / r, -R / ln10, LN2 / ln10, 5, lambda r: abs(r) / 10**r * top(r * ln10 / LN2)),
    "log": (lambda f: (log1p(f) - f) / f**2, F0, F1, 8, lambda f: f**2 / abs(log1p(f))),
    "log_fast": (lambda f: (log1p(f) - f) / f**2, F0, F1, 7, lambda f: f**2 / abs(log1p(f))),
    "log2": (lambda f: (log1p(f) - f) / f**2 / LN2, F0, F1, 8, lambda f: f**2 * LN2 / abs(log1p(f))),
    "log2_fast": (lambda f: (log1p(f) - f) / f**2 / LN2, F0, F1, 7, lambda f: f**2 * LN2 / abs(log1p(f))),
    "log10": (lambda f: (log1p(f) - f) / f**2 / ln10, F0, F1, 8, lambda f: f**2 * ln10 / abs(log1p(f))),
    "log10_fast": (lambda f: (log1p(f) - f) / f**2 / ln10, F0, F1, 7, lambda f: f**2 * ln10 / abs(log1p(f))),
    # 2/ln 2 atanh(s) = s (2/ln 2 + u P(u)), u = s^2
    "pow_log2": (lambda u: (2 * atanh(sqrt(u)) / sqrt(u) - 2) / LN2 / u, mpf("1e-9"), mpf("0.02945"), 4, lambda u: u, (0,)),
    "sin": (lambda u: (sin(sqrt(u)) - sqrt(u)) / sqrt(u)**3, mpf("1e-9"), Q**2, 3, lambda u: sqrt(u)**3 / sin(sqrt(u))),
    "sin_fast": (lambda u: (sin(sqrt(u)) - sqrt(u)) / sqrt(u)**3, mpf("1e-9"), Q**2, 2, lambda u: sqrt(u)**3 / sin(sqrt(u))),
    "cos": (lambda u: (cos(sqrt(u)) - 1 + u / 2) / u**2, mpf("1e-9"), Q**2, 2, lambda u: u**2 / cos(sqrt(u))),
    "cos_fast": (lambda u: (cos(sqrt(u)) - 1 + u / 2) / u**2, mpf("1e-9"), Q**2, 1, lambda u: u**2 / cos(sqrt(u))),
    "sinpi": (lambda u: (sin(pi * sqrt(u)) / sqrt(u) - pi) / u, mpf("1e-9"), mpf("0.0626"), 3,
              lambda u: sqrt(u)**3 / sin(pi * sqrt(u))),
    "sinpi_fast": (lambda u: (sin(pi * sqrt(u)) / sqrt(u) - pi) / u, mpf("1e-9"), mpf("0.0626"), 2,
              lambda u: sqrt(u)**3 / sin(pi * sqrt(u))),
    "cospi": (lambda u: (cos(pi * sqrt(u)) - 1) / u, mpf("1e-9"), mpf("0.0626"), 3, lambda u: u / cos(pi * sqrt(u))),
    "cospi_fast": (lambda u: (cos(pi * sqrt(u)) - 1) / u, mpf("1e-9"), mpf("0.0626"), 2, lambda u: u / cos(pi * sqrt(u))),
    "asin": (lambda z: (asin(sqrt(z)) / sqrt(z) - 1) / z, mpf("1e-9"), mpf("0.2501"), 5,
             lambda z: sqrt(z)**3 / asin(sqrt(z))),
    "asin_fast": (lambda z: (asin(sqrt(z)) / sqrt(z) - 1) / z, mpf("1e-9"), mpf("0.2501"), 4,
             lambda z: sqrt(z)**3 / asin(sqrt(z))),
    "atan": (lambda z: (atan(sqrt(z)) / sqrt(z) - 1) / z, mpf("1e-9"), mpf("1.0001"), 9,
             lambda z: sqrt(z)**3 / atan(sqrt(z))),
    "atan_fast": (lambda z: (atan(sqrt(z)) / sqrt(z) - 1) / z, mpf("1e-9"), mpf("1.0001"), 7,
             lambda z: sqrt(z)**3 / atan(sqrt(z))),
    "sinh": (lambda u: (sinh(sqrt(u)) / sqrt(u) - 1) / u, mpf("1e-9"), R**2, 1, lambda u: sqrt(u)**3 / sinh(sqrt(u))),
    "cosh": (lambda u: (cosh(sqrt(u)) - 1 - u / 2) / u**2, mpf("1e-9"), R**2, 1, lambda u: u**2 / cosh(sqrt(u))),
    "cbrt": (lambda m: cbrt(m), mpf(1), mpf(2), 4, lambda m: 1 / cbrt(m)),
    # erf(x) = x + x p(x^2) for |x| <= 1
    "erf": (lambda u: erf(sqrt(u)) / sqrt(u) - 1, mpf("1e-9"), mpf("1.0001"), 7, lambda u: sqrt(u) / erf(sqrt(u))),
    # (1 + 2x) exp(x^2) erfc(x) in q = (x - 2) / (x + 2), x from 0 to 10.5
    "erfc": (lambda q: (1 + 2 * (2 + 2 * q) / (1 - q)) * erfcx((2 + 2 * q) / (1 - q)), mpf(-1), mpf("8.5") / mpf("12.5"), 13,
             lambda q: 1 / ((1 + 2 * (2 + 2 * q) / (1 - q)) * erfcx((2 + 2 * q) / (1 - q)))),
    # log Gamma(2 + t) = t (1 + t) p(t) for t in [-1, 1]
    "lgamma": (lambda t: loggamma(2 + t) / (t * (1 + t)), mpf("-0.99999999"), mpf(1), 13,
               lambda t: t * (1 + t) / loggamma(2 + t)),
    # log Gamma(x) = (x - 1/2) log x - x + log(2 pi)/2 + w S(w^2), w = 1/x <= 1/3; absolute error
    "stirling": (lambda u: (loggamma(1 / sqrt(u)) - (1 / sqrt(u) - mpf(1) / 2) * log(1 / sqrt(u)) + 1 / sqrt(u) - log(2 * pi) / 2)
                 / sqrt(u), mpf("1e-4"), mpf(1) / 9, 3, lambda u: sqrt(u)),
}


def literals(folder):
    """Magnitudes of all hexadecimal float literals of the sources in `folder`."""
    found = set()
    for path in list(Path(folder).glob("*.c")) + list(Path(folder).glob("*.h")):
        found.update(float.fromhex(text) for text in re.findall(r"0x[0-9a-f.]+p[+-]?[0-9]+", path.read_text()))
    return found


def main():
    arguments = sys.argv[1:]
    known = None
    if arguments[:1] == ["--check"]:
        known = literals(arguments[1])
        arguments = arguments[2:]
    stale = 0
    for name in arguments or POLYNOMIALS:
        c, error = fit(*POLYNOMIALS[name])
        parts = [[to_float(v)] + ([v - to_float(v)] if v != to_float(v) else []) for v in c]
        if known is not None:
            missing = [v for part in parts for v in part if abs(float(v)) not in known]
            print("%s: %s" % (name, "%d coefficients are not in the sources" % len(missing) if missing else "ok"), flush=True)
            stale += len(missing)
            continue
        text = [" + ".join(float(v).hex().replace("0000000p", "p") + "f" for v in part) for part in parts]
        print("%s: error 2^%.1f\n    %s" % (name, float(log(error, 2)), ", ".join(text)), flush=True)
    sys.exit(stale != 0)


if __name__ == "__main__":
    main()
