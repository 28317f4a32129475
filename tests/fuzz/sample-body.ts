/** A body that fits a JSON Schema as zod writes them, with every field in it. */

interface Schema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly minimum?: number
}

/** One value; `name` = that of the field, which texts repeat. */
export function sampleOf(schema: Schema, name = 'x'): unknown {
  const chosen = schema.anyOf?.find(one => one.type !== 'null') ?? schema
  if (chosen.enum) return chosen.enum[0]
  switch (chosen.type) {
    case 'string':
      return /duration|interval|period/.test(name) ? '1h' : name
    case 'integer':
    case 'number':
      return Math.max(chosen.minimum ?? 1, 1)
    case 'boolean':
      return true
    case 'array':
      return [sampleOf(chosen.items ?? {}, name)]
    case 'object':
      return sampleObject(chosen, name)
    default:
      return chosen.anyOf ? sampleOf(chosen, name) : name
  }
}

function sampleObject({ properties, additionalProperties }: Schema, name: string): object {
  if (properties)
    return Object.fromEntries(Object.entries(properties).map(([field, one]) => [field, sampleOf(one, field)]))
  return { [name]: sampleOf(typeof additionalProperties === 'object' ? additionalProperties : {}, 'a') }
}
