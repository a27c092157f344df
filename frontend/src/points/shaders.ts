// The vertex and the fragment shader. A point is a small square, cut to the shape of its mark.

export const VERTEX = `#version 300 es
layout(location = 0) in vec2 position;
layout(location = 1) in float key;
uniform sampler2D table;   // the color table, see packed() in style.ts
uniform float entries;
uniform vec2 center;       // of the camera
uniform vec2 scale;        // from the plane to clip space
uniform float size;        // in device pixels
uniform float alpha;
uniform vec4 faded;        // a color, and how far points fade to it
flat out vec4 color;
flat out int mark;
flat out float diameter;
void main() {
  int entry = int(min(key, entries - 1.0) + 0.5);
  vec4 texel = texelFetch(table, ivec2(entry & 255, entry >> 8), 0);
  int packed = int(texel.a * 255.0 + 0.5);
  float opacity = float(packed >> 2) / 63.0;
  mark = size < 4.5 ? 0 : packed & 3;   // too small to distinguish marks
  diameter = mark == 0 ? size : size * 1.35 + 1.0;
  float a = alpha * opacity;
  color = vec4(mix(texel.rgb, faded.rgb, faded.a) * a, a);
  gl_PointSize = diameter;
  gl_Position = a > 0.0 ? vec4((position - center) * scale, 0.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
}`;

export const FRAGMENT = `#version 300 es
precision highp float;
flat in vec4 color;
flat in int mark;
flat in float diameter;
out vec4 ink;
void main() {
  if (diameter < 2.5) { ink = color; return; }   // too small to be round
  vec2 at = (gl_PointCoord - 0.5) * diameter;
  float radius = 0.5 * diameter;
  float outside;                                   // distance to the edge of the mark, in pixels
  if (mark == 0) outside = length(at) - radius + 0.5;
  else if (mark == 1) outside = abs(length(at) - 0.7 * radius) - 0.22 * radius;
  else if (mark == 2) outside = max(abs(at.x) * 0.867 - (at.y + 0.9 * radius) * 0.5, at.y - 0.75 * radius);
  else { vec2 d = abs(at); outside = max(abs(d.x - d.y) * 0.7071 - 0.2 * radius, max(d.x, d.y) - 0.8 * radius); }
  ink = color * clamp(0.5 - outside, 0.0, 1.0);
}`;
