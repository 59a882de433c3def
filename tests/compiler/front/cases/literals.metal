//@ rewrite
//= x = 1.0f + 1.f + .5f + 1e3f + 1.5e-3f + 0x1.8p3f;
//= x = 1.0f + 2.f16 + 1.0f16 + 1e2f16 + ((bfloat)1.5f) + ((bfloat)1.0f);
//= n = 1 + 1u + 0x1f + 0xbf + 0x1e+2 + 100ul + 1'000 + 'h';
//= s = "1.0 device";
x = 1.0 + 1. + .5 + 1e3 + 1.5e-3 + 0x1.8p3;
x = 1.0f + 2.h + 1h + 1e2H + 1.5bf + 1bf;
n = 1 + 1u + 0x1f + 0xbf + 0x1e+2 + 100ul + 1'000 + 'h';
s = "1.0 device";
