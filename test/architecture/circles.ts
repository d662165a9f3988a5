/** No circles of imports, within folders either: files in a circle cannot be read, tested or moved one without the others. */
import type { Project, Rule } from './project.js';

type Graph = ReadonlyMap<string, readonly string[]>;

/** One finding per knot of files that reach each other, with its shortest circle. Type-only imports count: a reader follows them too. */
export const circles: Rule = (project) => {
  const graph = graphOf(project);
  return knots(graph).map((knot) => {
    const circle = shortestCircle(graph, knot);
    const more = knot.length > circle.length ? ` (${knot.length} files are in circles with it: ${knot.join(', ')})` : '';
    return `${[...circle, circle[0]].join(' -> ')} is a circle of imports${more}: move what both sides need into a file of its own that imports neither, `
      + 'or take it as an argument';
  });
};

function graphOf({ sources }: Project): Graph {
  const paths = new Map(sources.map(({ path }) => [path.replace(/\.tsx?$/, ''), path]));
  return new Map(sources.map(({ path, imports }) => [path, imports.flatMap(({ target }) => target === undefined ? [] : [paths.get(target) ?? `${target}.ts`])]));
}

/** The sets of files in which each reaches each other, sorted: those that a file both reaches and is reached from. */
function knots(graph: Graph): string[][] {
  const reaches = new Map([...graph.keys()].map((file) => [file, reachedFrom(graph, file)]));
  const seen = new Set<string>();
  return [...graph.keys()].sort().flatMap((file) => {
    const reached = reaches.get(file);
    if (seen.has(file) || reached?.has(file) !== true) return [];
    const knot = [...reached].filter((other) => reaches.get(other)?.has(file)).sort();
    for (const member of knot) seen.add(member);
    return [knot];
  });
}

function reachedFrom(graph: Graph, file: string): Set<string> {
  const reached = new Set<string>();
  const waiting = [...graph.get(file) ?? []];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    waiting.push(...graph.get(next) ?? []);
  }
  return reached;
}

function shortestCircle(graph: Graph, knot: readonly string[]): string[] {
  const found = knot.map((file) => circleThrough(graph, file)).sort((a, b) => a.length - b.length)[0];
  if (found === undefined) throw new Error('a knot has a circle');
  return found;
}

/** The shortest way from a file back to itself, breadth first. */
function circleThrough(graph: Graph, file: string): string[] {
  const ways = [[file]];
  const seen = new Set<string>();
  for (let way = ways.shift(); way !== undefined; way = ways.shift()) {
    for (const next of graph.get(way.at(-1) ?? file) ?? []) {
      if (next === file) return way;
      if (seen.has(next)) continue;
      seen.add(next);
      ways.push([...way, next]);
    }
  }
  throw new Error(`${file} is in no circle`);
}
