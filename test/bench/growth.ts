/** `npm run bench -- growth`: what more markets, orders and trades cost, with the curves as pictures for docs/performance.md. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { drawCurve, type Curve } from './curve.js';
import { engineGrowth } from './growth-engine.js';
import { readModelsGrowth } from './growth-read-models.js';
import type { BenchLine } from './line.js';

const PICTURES = 'docs/pictures';

/** What one half of the benchmark has found. */
export interface Growth {
  readonly lines: BenchLine[];
  readonly curves: Curve[];
}

export async function growthBench(url: string): Promise<BenchLine[]> {
  const parts: Growth[] = [await engineGrowth(url), await readModelsGrowth(url)];
  for (const curve of parts.flatMap(({ curves }) => curves)) await writeFile(join(PICTURES, `${curve.file}.svg`), drawCurve(curve));
  return parts.flatMap(({ lines }) => lines);
}
