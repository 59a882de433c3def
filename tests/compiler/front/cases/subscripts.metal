//@ rewrite
//@ std metal4.0
//= a[__tombac::subscript(i, j)] = b[__tombac::subscript(i + 1, f(j, 2), c[__tombac::subscript(0, 1)])];
//= d[(i, j)] = e[i] + g[pair{1, 2}] + h(i, j)[k] + [i, j](int x) { return x; }(i);
//= l[__tombac::subscript(array<int, 2>{1, 2})] = 0; auto [p, q] = m;
a[i, j] = b[i + 1, f(j, 2), c[0, 1]];
d[(i, j)] = e[i] + g[pair{1, 2}] + h(i, j)[k] + [i, j](int x) { return x; }(i);
l[array<int, 2>{1, 2}] = 0; auto [p, q] = m;
