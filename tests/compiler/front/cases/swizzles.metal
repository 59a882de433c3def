//@ rewrite
//= v = p.template swz<0,1,2>() + q->template swz<3,0>() + c.template swz<0,1,2,3>();
//= p.template swzl<0,1>() = w; p.template swzl<1,0>() += w; p.template swzl<2,2>()++;
//= p.x = p.r + p.xyzz1 + p.xg + s.xy() + xyz;
v = p.xyz + q->wx + c.rgba;
p.xy = w; p.yx += w; p.zz++;
p.x = p.r + p.xyzz1 + p.xg + s.xy() + xyz;
