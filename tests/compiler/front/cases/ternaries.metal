//@ rewrite
//= x = c ? ::metal::__tc<decltype(b)>(a[0]) : ::metal::__tc<decltype(a[0])>(b);
//= x = c ? ::metal::__tc<decltype(*q)>(*p) : ::metal::__tc<decltype(*p)>(*q);
//= x = c ? ::metal::__tc<decltype(h)>(1) : ::metal::__tc<decltype(1)>(h);
//= x = c ? 1 : 2; y = c ? a : b; z = c ? f(1, 2) : g<int>(3);
//= p = c ? nullptr : q[1];
x = c ? a[0] : b;
x = c ? *p : *q;
x = c ? 1 : h;
x = c ? 1 : 2; y = c ? a : b; z = c ? f(1, 2) : g<int>(3);
p = c ? nullptr : q[1];
