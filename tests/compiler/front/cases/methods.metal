//@ rewrite
//= float get() const { return v; }
//= S() : v(0), w{1} {}
//= S &operator=( const S &o) { v = o.v; return *this; }
//= float operator()(int i) { return v * i; }
//= template <typename U> void set(U u) { v = u; }
//= void only() const ;
//= void S::only() const { }
//= constexpr R<T>() = default;
//! device
//! threadgroup
//! 99
struct S {
    float v, w;
    float get() const thread { return v; }
    float get() const device { return v; }
    float get() const threadgroup { return v; }
    S() thread : v(0), w{1} {}
    S() device : v(0), w{1} {}
    thread S &operator=(thread const S &o) thread { v = o.v; return *this; }
    float operator()(int i) thread { return v * i; }
    float operator()(int i) threadgroup { return v * i; }
    template <typename U> void set(U u) thread { v = u; }
    template <typename U> void set(U u) device { v = u; }
    void only() const device;
};
void S::only() const device { }
template <typename T> struct R {
    constexpr R<T>() thread = default;
    constexpr R<T>() threadgroup = default;
};
