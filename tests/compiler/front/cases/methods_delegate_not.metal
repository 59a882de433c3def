//@ rewrite
//? unsupported
//: 8:9: error: member function 'get' does different things in different address spaces, which is not supported
// The arguments are not in the parameters' order.
struct Fp {
    int v;
    int get(int i, int j) const { return v + i * j; }
    int get(int i, int j) device const { return Fp(*this).get(j, i); }
};
