/**
 * `npm run api-types`: web/api/schema.d.ts, the types of what the pages ask the gateway, made from its own OpenAPI
 * document. `npm run check` and `npm test` make it first: a field that changes there breaks the pages' types. It is
 * not kept in the repository. Beside it web/api/written-fields.ts, which is kept, because the pages are built with it:
 * the fields of tenant objects that requests may send, of which forms are made.
 */
import { join } from 'node:path'
import { writtenObjects } from '../src/core/tenancy/field-tables.ts'
import type { FieldTable } from '../src/core/tenancy/fields.ts'
import { openapiDocument } from '../src/endpoints/openapi/document.ts'
import { allEndpoints } from '../src/endpoints/index.ts'

const endpoints = await allEndpoints()

type Schema = boolean | { readonly [keyword: string]: unknown }

interface Operation {
  readonly parameters: readonly { name: string; in: string; required: boolean; schema: Schema }[]
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, { schema: Schema }>> }
  readonly responses: Readonly<Record<string, { content?: Readonly<Record<string, { schema: Schema }>> }>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const plainTypes: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
}

const target = join(import.meta.dir, '../web/api/schema.d.ts')
const made = apiTypes(
  (await openapiDocument(endpoints, { version: '', headerPrefix: 'x-proxy', rootPath: '' })) as Document,
)
await write(target, made)
await write(join(import.meta.dir, '../web/api/written-fields.ts'), writtenFieldsFile())

/** Its time stays as it is where nothing has changed: the checks are incremental. */
async function write(path: string, text: string): Promise<void> {
  if ((await Bun.file(path).exists()) && (await Bun.file(path).text()) === text) return
  await Bun.write(path, text)
}

function writtenFieldsFile(): string {
  const objects: Readonly<Record<string, FieldTable>> = writtenObjects
  const texts = Object.entries(objects).map(([object, table]) => {
    const fields = Object.values(table).filter(field => field.isWritten)
    const lines = fields.map(
      ({ name, kind, isSelfService }) =>
        `    ${name}: { kind: '${kind}'${isSelfService ? ', isSelfService: true' : ''} },\n`,
    )
    return `  ${object}: {\n${lines.join('')}  },\n`
  })
  return `// Made by npm run api-types from src/core/tenancy/field-tables.ts.

/** The fields that requests may send of each kind of object, by the API's names, with the kind of what they hold. */
export const writtenFields = {
${texts.join('')}} as const
`
}

function apiTypes({ paths, components }: Document): string {
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) => `export type ${typeName(name)} = ${typeOf(schema)}\n`,
  )
  const calls = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => `  '${method.toUpperCase()} ${path}': ${callOf(operation)}\n`),
  )
  return `// Made by npm run api-types from /openapi.json.
${schemas.join('')}
export interface Calls {
${calls.join('')}}
`
}

function callOf({ parameters, requestBody, responses }: Operation): string {
  const record = (place: string) => {
    const fields = parameters
      .filter(one => one.in === place)
      .map(({ name, required, schema }) => `${quoted(name)}${required ? '' : '?'}: ${typeOf(schema)}`)
    return fields.length === 0 ? 'undefined' : `{ ${fields.join('; ')} }`
  }
  const body = requestBody?.content['application/json']
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? []
  const answer = success?.content?.['application/json']
  const fields = {
    path: record('path'),
    query: record('query'),
    body: body ? `${typeOf(body.schema)}${requestBody!.required ? '' : ' | undefined'}` : 'undefined',
    answer: answer ? typeOf(answer.schema) : 'undefined',
  }
  return `{ ${Object.entries(fields)
    .map(([name, type]) => `${name}: ${type}`)
    .join('; ')} }`
}

/** The type in TypeScript; `unknown` where the schema allows everything. */
function typeOf(schema: Schema | undefined): string {
  if (typeof schema !== 'object') return 'unknown'
  const { $ref, enum: values, anyOf, oneOf, allOf, type } = schema
  if (typeof $ref === 'string')
    return $ref.startsWith('#/components/schemas/') ? typeName($ref.slice('#/components/schemas/'.length)) : 'unknown'
  if ('const' in schema) return JSON.stringify(schema.const)
  if (Array.isArray(values)) return union(values.map(value => JSON.stringify(value)))
  const choices = anyOf ?? oneOf
  if (Array.isArray(choices)) return union(choices.map(one => typeOf(one as Schema)))
  if (Array.isArray(allOf)) return `(${allOf.map(one => typeOf(one as Schema)).join(' & ')})`
  if (Array.isArray(type)) return union(type.map(one => typeOf({ ...schema, type: one as string })))
  if (type === 'array') return `${arrayItem(schema)}[]`
  if (type === 'object' || 'properties' in schema) return objectType(schema)
  return plainTypes[String(type)] ?? 'unknown'
}

function arrayItem({ items }: Exclude<Schema, boolean>): string {
  const item = typeOf(items as Schema)
  return /^\w+$/.test(item) ? item : `(${item})`
}

function objectType({ properties = {}, required = [], additionalProperties }: Exclude<Schema, boolean>): string {
  const needed = new Set(required as string[])
  const fields = Object.entries(properties as Record<string, Schema>).map(
    ([name, schema]) => `${quoted(name)}${needed.has(name) ? '' : '?'}: ${typeOf(schema)}`,
  )
  const values = typeof additionalProperties === 'object' ? typeOf(additionalProperties as Schema) : 'unknown'
  if (fields.length === 0) return `Record<string, ${values}>`
  return `{ ${fields.join('; ')} }`
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ')
}

function typeName(name: string): string {
  return name.replace(/\W/g, '_')
}

function quoted(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name)
}
