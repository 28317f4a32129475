/** What follows from a dialect's table of fields: the checks, and how each field is decoded. */
import { FieldNames } from '../../core/dialects/field-names.ts'
import type { Field, PlainSchema } from '../../core/dialects/fields.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { readField } from './field-checks.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import type { Check, CheckedField, Path, ProblemList } from './field-checks.ts'
import { gatewayFieldsBeside } from './gateway-fields.ts'
import { plainCheck, plainFormCheck } from './plain-checks.ts'

/** A table, indexed once when the module is loaded. */
export interface FieldTable<Request> {
  readonly fields: readonly CheckedField<Request>[]
  readonly checks: ReadonlyMap<string, Check>
  /** What becomes of each field: the value of a property, or work of the dialect's code. All others are extra. */
  readonly uses: ReadonlyMap<string, { readonly property: keyof Request } | 'code'>
  /** Of the rows in both spellings, and of the fields for the gateway itself. */
  readonly names: FieldNames
  /** What is the gateway's in this dialect, and never sent (`gatewayFieldsBeside`). */
  readonly gatewayFields: ReadonlySet<string>
  /** What a body must have, and what the error asks the client to send. */
  readonly required: readonly { readonly name: string; readonly what: string }[]
}

interface TableOptions {
  /** All values but files are text. */
  readonly form?: boolean
  /** Where the fields stand in the body; the top by default. */
  readonly within?: Path
  /** A second spelling of each name. */
  readonly alias?: (name: string) => string
}

/**
 * The order of `fields` only matters for `required`, which is reported in it. Throws for a row without a check whose
 * schema is neither plain nor empty.
 */
export function fieldTable<Request>(
  fields: readonly CheckedField<Request>[],
  { form = false, within = [], alias = name => name }: TableOptions = {},
): FieldTable<Request> {
  const checks = new Map<string, Check>()
  const uses = new Map<string, { readonly property: keyof Request } | 'code'>()
  for (const { name, schema, check, property, converted, extra } of fields) {
    const plain = isPlain(schema) ? (form ? plainFormCheck : plainCheck)([...within, name], schema) : undefined
    const found = check ?? plain
    if (!found && Object.keys(schema).length > 0) throw new Error(`the field ${name} needs a check`)
    for (const spelling of [name, alias(name)]) {
      if (found) checks.set(spelling, found)
      if (!extra) uses.set(spelling, property !== undefined && !converted ? { property } : 'code')
    }
  }
  const required = fields.flatMap(field =>
    typeof field.required === 'string' ? [{ name: field.name, what: field.required }] : [],
  )
  const gatewayFields = gatewayFieldsBeside(fields)
  const names = new FieldNames([...fields.flatMap(({ name }) => [name, alias(name)]), ...gatewayFields])
  return { fields, checks, uses, names, gatewayFields, required }
}

/** The rows with the checks of those whose schema is not plain. Throws for a check without a row. */
export function withChecks<Row extends Field<never>>(
  fields: readonly Row[],
  checks: Readonly<Record<string, Check>>,
): (Row & { readonly check?: Check })[] {
  for (const name of Object.keys(checks))
    if (!fields.some(field => field.name === name)) throw new Error(`there is no field ${name}`)
  return fields.map(field => {
    const check = checks[field.name]
    return check ? { ...field, check } : field
  })
}

function isPlain(schema: Field['schema']): schema is PlainSchema {
  switch (schema.type) {
    case 'number':
    case 'integer':
    case 'boolean':
    case 'string':
      return true
    case 'array':
      return isObject(schema.items) && schema.items.type === 'string'
    case 'object':
      return !isObject(schema.additionalProperties) || schema.additionalProperties.type === 'string'
    default:
      return false
  }
}

/** Reports the required fields that are absent or null. */
export function checkRequired(body: JsonBody, { required }: FieldTable<never>, problems: ProblemList): void {
  for (const { name, what } of required) if (!isGiven(body, name)) problems.wrong([name], what, undefined)
}

/** Present, and not null. */
export function isGiven(body: JsonBody, field: string): boolean {
  return body.has(field) && (body.sizeOf(field) > 4 || readField(body, field) !== null)
}

/**
 * Copies the values of plain fields into the hub's request, and into `extra` those that neither the dialect nor the
 * gateway understands. Null means absent. Only for fields that passed the inspection.
 */
export function readFields<Request>(fields: Json, table: FieldTable<Request>, request: Request, extra?: Json): void {
  const { uses, gatewayFields } = table
  for (const name in fields) {
    const value = fields[name]
    if (value === null) continue
    const use = uses.get(name)
    if (use === 'code') continue
    if (use !== undefined) request[use.property] = value as Request[keyof Request]
    else if (extra && !gatewayFields.has(name) && name !== '__proto__') extra[name] = value
  }
}
