//@ rewrite
//= Fp operator+(Fp x) const { return Fp(v + x.v); }
//= Fp operator-() const { return Fp(-v); }
//= int get(int i, int j) const { return v + i * j; }
//= bool operator==(Fp x) const { return v == x.v; }
//! *this
// A member that applies itself to a copy of the object says nothing of its own, wherever it stands.
struct Fp {
    int v;
    bool operator==(Fp x) device const { return Fp(*this) == x; }
    Fp operator+(Fp x) const { return Fp(v + x.v); }
    Fp operator-() const { return Fp(-v); }
    int get(int i, int j) const { return v + i * j; }
    bool operator==(Fp x) const { return v == x.v; }
    Fp operator+(Fp x) device const { return Fp(*this) + x; }
    Fp operator+(Fp x) threadgroup const { return Fp(*this) + x; }
    Fp operator-() device const { return -Fp(*this); }
    int get(int i, int j) device const { return Fp(*this).get(i, j); }
};
