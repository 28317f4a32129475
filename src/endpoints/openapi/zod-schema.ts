/** Turns the zod schemas that check requests into the JSON Schemas that the document shows. */
import { z } from 'zod'
import type { EndpointDoc, QueryDoc } from '../../core/endpoint.ts'

/** The JSON Schema of what a client sends; one that is JSON Schema already is left as it is. */
export function schemaOf(schema: NonNullable<EndpointDoc['request']>): object {
  const made = typeof schema === 'function' ? schema() : schema
  return made instanceof z.ZodType ? z.toJSONSchema(made, { io: 'input', unrepresentable: 'any' }) : made
}

/** The parameters of a query; a name that says everything needs no description. */
export function parametersOf(query: QueryDoc | (() => z.ZodObject)): QueryDoc {
  if (typeof query !== 'function') return query
  const { properties = {} } = schemaOf(query) as { properties?: Readonly<Record<string, { description?: string }>> }
  return Object.fromEntries(
    Object.entries(properties).map(([name, { description, ...schema }]) => [name, { schema, description }]),
  )
}
