/** What of a JSON Schema cannot be checked by `json-schema.ts`, said before a value is validated. */
import { schemaPattern, schemaReferences, stepsOf, subschemasOf } from './json-schema-parts.ts'
import { isObject } from './json-values.ts'
import type { Json } from './json-values.ts'

/** A keyword that is not checked. */
export interface SchemaFault {
  readonly keyword: string
  /** Where it stands: names of keywords and properties, from the root on. */
  readonly path: readonly string[]
  /** Begins with a verb: `is not a keyword of JSON Schema ...`. */
  readonly problem: string
}

/** What is checked, and what says nothing about a value (annotations). Names of an author's own begin with `x-`. */
const keywords: ReadonlySet<string> = new Set(
  (
    '$schema $id $anchor $ref $defs $comment definitions title description default examples deprecated readOnly ' +
    'writeOnly format contentEncoding contentMediaType contentSchema type enum const multipleOf maximum ' +
    'exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern maxItems minItems uniqueItems maxContains ' +
    'minContains maxProperties minProperties required dependentRequired dependentSchemas dependencies prefixItems ' +
    'items additionalItems contains properties patternProperties additionalProperties propertyNames allOf anyOf ' +
    'oneOf not if then else unevaluatedItems unevaluatedProperties'
  ).split(' '),
)
const isAnnotation = (keyword: string): boolean => keyword.startsWith('x-')

/** Of other meaning in some drafts, or of other documents. */
const notChecked: Readonly<Record<string, string>> = {
  $dynamicRef: 'is not followed; use $ref',
  $dynamicAnchor: 'is not followed; use $anchor and $ref',
  $recursiveRef: 'is not followed; use $ref',
  $vocabulary: 'is not read; leave it out',
}
const drafts = /^https?:\/\/json-schema\.org\/(?:draft\/2020-12|draft\/2019-09|draft-0[4-7])\/schema#?$/

const faultsMax = 100
/** As many patterns as one check can compile (`patternSteps` in json-schema.ts): clients send schemas, too. */
const patternsMax = 500

/** In the order of the schema, the first 100; empty = all of it is checked. */
export function schemaFaults(root: Json): readonly SchemaFault[] {
  const faults: SchemaFault[] = []
  const seen = new Set<string>()
  for (const { schema, path } of subschemasOf(root))
    for (const [keyword, value] of Object.entries(schema)) {
      const patterns = keyword === 'patternProperties' && isObject(value) ? Object.keys(value) : []
      for (const one of keyword === 'pattern' && typeof value === 'string' ? [value] : patterns) seen.add(one)
      if (seen.size > patternsMax) {
        const problem = `makes more than ${patternsMax} patterns in one schema, which are too much work to check`
        return [...faults, { keyword, path: [...stepsOf(path), keyword], problem }]
      }
      const problem = problemOf(keyword, value, { root, isRoot: schema === root })
      if (problem !== undefined) faults.push({ keyword, path: [...stepsOf(path), keyword], problem })
      for (const pattern of patterns) {
        const compiled = schemaPattern(pattern)
        if ('fault' in compiled)
          faults.push({ keyword, path: [...stepsOf(path), keyword, pattern], problem: compiled.fault })
      }
      if (faults.length >= faultsMax) return faults
    }
  return faults
}

/** A `$ref` that cannot be resolved within the schema; undefined = there is none. Other documents are never fetched. */
export function unknownReference(root: Json): string | undefined {
  for (const { schema } of subschemasOf(root))
    if (typeof schema.$ref === 'string' && !isSchema(schemaReferences(root).resolve(schema.$ref))) return schema.$ref
  return undefined
}

const isSchema = (value: unknown): value is Json | boolean => typeof value === 'boolean' || isObject(value)

function problemOf(
  keyword: string,
  value: unknown,
  { root, isRoot }: { readonly root: Json; readonly isRoot: boolean },
): string | undefined {
  if (Object.hasOwn(notChecked, keyword)) return notChecked[keyword]
  switch (keyword) {
    case '$ref':
      return typeof value === 'string' && !isSchema(schemaReferences(root).resolve(value))
        ? `refers to ${JSON.stringify(value.slice(0, 200))}, which the schema does not define; put it under \`$defs\``
        : undefined
    case '$id':
      // References below it would be read from there.
      return isRoot ? undefined : 'begins a schema of its own, whose references are not followed; leave it out'
    case '$schema':
      return typeof value === 'string' && drafts.test(value) ? undefined : 'names no draft that is known here'
    case 'pattern': {
      const compiled = typeof value === 'string' ? schemaPattern(value) : undefined
      return compiled && 'fault' in compiled ? compiled.fault : undefined
    }
  }
  if (keywords.has(keyword) || isAnnotation(keyword)) return undefined
  return 'is not a keyword of JSON Schema 2020-12; leave it out, or begin its name with x-'
}
