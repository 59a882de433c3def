//@ rewrite
//@ std metal3.2
//= a[i, j] = b[i + 1, f(j, 2), c[0, 1]];
a[i, j] = b[i + 1, f(j, 2), c[0, 1]];
