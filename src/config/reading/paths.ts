/** Paths of values in a configuration file. */

/** Keys and list indexes from the root: `['model_list', 0, 'model_name']`. Empty = the file itself. */
export type Path = readonly (string | number)[]

/** Lists that lost items, by their path in what is left, as JSON: the index in the file of each item that is left. */
export type KeptItems = ReadonlyMap<string, readonly number[]>

/** A path in what is left as the path in the file. */
export function pathInFile(kept: KeptItems | undefined, path: Path): Path {
  if (!kept || kept.size === 0) return path
  return path.map((part, at) => kept.get(JSON.stringify(path.slice(0, at)))?.[Number(part)] ?? part)
}
