/** The Python that the scripted models write. The sandbox has the standard library only, so the chart is plain SVG. */

type Row = [year: number, passengers: number];

export function growthCode(rows: readonly Row[]): string {
  return `passengers = ${dictionary(rows)}
last = max(passengers)
growth = passengers[last] / passengers[2020] - 1
share = passengers[last] / passengers[2019]
print(f"growth since 2020: {growth:.1%}")
print(f"share of 2019: {share:.1%}")
`;
}

export function chartCode(lines: readonly { name: string; rows: readonly Row[] }[]): string {
  const series = lines.map(({ name, rows }) => `    ${JSON.stringify(name)}: ${dictionary(rows)},`).join('\n');
  return `lines = {
${series}
}
width, height, left, base = 640, 360, 60, 320
top = max(max(values.values()) for values in lines.values())
years = sorted({year for values in lines.values() for year in values})
x = {year: left + n * (width - left - 40) / (len(years) - 1) for n, year in enumerate(years)}
y = lambda value: base - value / top * 260
parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">']
parts.append('<rect width="100%" height="100%" fill="white"/>')
for year in years:
    parts.append(f'<text x="{x[year]:.0f}" y="{base + 20}" text-anchor="middle">{year}</text>')
for (name, values), colour in zip(lines.items(), ["#1d4ed8", "#c2410c"]):
    points = " ".join(f"{x[year]:.1f},{y(values[year]):.1f}" for year in sorted(values))
    last = max(values)
    parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="3"/>')
    parts.append(f'<text x="{x[last] - 8:.0f}" y="{y(values[last]) - 10:.0f}" text-anchor="end" fill="{colour}">{name}</text>')
    print(f"{name}: {values[2020]:,} in 2020, {values[last]:,} in {last}")
parts.append("</svg>")
with open("passengers.svg", "w") as file:
    file.write("\\n".join(parts))
`;
}

function dictionary(rows: readonly Row[]): string {
  return `{${rows.map(([year, passengers]) => `${year}: ${passengers}`).join(', ')}}`;
}
