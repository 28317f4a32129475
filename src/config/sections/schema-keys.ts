/** The keys of the configuration file, as its schema has them. */
import type { Path } from '../reading/reading.ts'
import { configSchema } from './file.ts'

/** The keys that the schema of the file has at a path in our names. */
export function knownKeys(path: Path): string[] {
  let schema: unknown = configSchema
  for (const part of path) {
    schema = unwrapped(schema)
    const { shape, element, valueType } = schema as {
      shape?: Record<string, unknown>
      element?: unknown
      valueType?: unknown
    }
    schema = typeof part === 'number' ? element : (shape?.[part] ?? valueType)
  }
  const { shape } = (unwrapped(schema) ?? {}) as { shape?: Record<string, unknown> }
  return Object.keys(shape ?? {})
}

function unwrapped(schema: unknown): unknown {
  let at = schema as { unwrap?: () => unknown; shape?: unknown; element?: unknown } | undefined
  while (at && typeof at.unwrap === 'function' && !at.shape && !at.element) at = at.unwrap() as typeof at
  return at
}

/** A key that has a value of its own. */
export interface SettingKey {
  /** In our names. */
  readonly path: readonly string[]
  /** Empty = it has none. */
  readonly description: string
}

/** The keys below all sections, in the order of the schema. Lists, and maps with names of their own, are one key. */
export function settingKeys(): SettingKey[] {
  const { shape } = unwrapped(configSchema) as { shape: Record<string, unknown> }
  return Object.entries(shape).flatMap(([section, schema]) => leavesOf(schema, [section]))
}

function leavesOf(schema: unknown, path: readonly string[]): SettingKey[] {
  const { shape } = (unwrapped(schema) ?? {}) as { shape?: Record<string, unknown> }
  if (shape) return Object.entries(shape).flatMap(([key, one]) => leavesOf(one, [...path, key]))
  return [{ path, description: (schema as { description?: string }).description ?? '' }]
}
