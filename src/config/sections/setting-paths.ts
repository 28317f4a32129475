/** The keys of the configuration file by their paths, as their sections declare them. */
import type { SettingKey, SettingKeys } from '../../core/setting-keys.ts'
import type { SettingGroup } from '../../core/effective-values.ts'
import type { Path } from '../reading/paths.ts'
import { fileKeys } from './file.ts'

/** What is below a key: further keys, entries of a list or of a map, or nothing. */
const insideOf = (key: SettingKey): SettingKeys | undefined =>
  'keys' in key ? key.keys : 'entries' in key ? key.entries : undefined

/** The names of the keys at a path in our names. */
export function knownKeys(path: Path): string[] {
  let keys: SettingKeys | undefined = fileKeys
  let isInEntries = false
  for (const part of path) {
    // An index of a list, or a name of a map, leads to the keys of the entry.
    if (isInEntries) isInEntries = false
    else {
      const key: SettingKey | undefined = Object.hasOwn(keys, part) ? keys[part] : undefined
      keys = key && insideOf(key)
      if (!key || !keys) return []
      isInEntries = 'entries' in key
    }
  }
  return isInEntries ? [] : Object.keys(keys)
}

/** A key that has a value of its own, and what of its sections counts for it. */
export interface PlacedKey {
  /** In our names. */
  readonly path: readonly string[]
  readonly key: SettingKey
  readonly group: SettingGroup
  /** The conditions under which the key has an effect: its own, and those of its sections. */
  readonly usedWith: readonly NonNullable<SettingKey['usedWith']>[]
}

/** The keys below all sections, in their order. Lists and maps are one key. */
export const placedKeys: readonly PlacedKey[] = placedIn(fileKeys, [], [])

function placedIn(keys: SettingKeys, above: readonly string[], conditions: PlacedKey['usedWith']): PlacedKey[] {
  return Object.entries(keys).flatMap(([name, key]) => {
    const path = [...above, name]
    const usedWith = key.usedWith ? [...conditions, key.usedWith] : conditions
    return 'keys' in key ? placedIn(key.keys, path, usedWith) : [{ path, key, group: key.group!, usedWith }]
  })
}
