//@ list
//@ std metal9.9
//? argument error
//= unknown language standard 'metal9.9'; known are metal2.0, metal2.1, metal2.2, metal2.3, metal2.4, metal3.0, metal3.1, metal3.2, metal4.0, metal4.1, each also with macos- or ios- in front
kernel void k(device float *a) {}
