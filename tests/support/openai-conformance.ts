/**
 * Checks bodies against the shapes of OpenAI's own OpenAPI document: tests/data/openai-shapes.json, which
 * scripts/extract-openai-shapes.ts makes. A test that needs a further schema adds its name there.
 */
import { readFileSync } from 'node:fs'
import Ajv2020 from 'ajv/dist/2020'

let ajv: Ajv2020 | undefined

function load(): Ajv2020 {
  if (ajv) return ajv
  const { schemas } = JSON.parse(readFileSync(`${import.meta.dir}/../data/openai-shapes.json`, 'utf8')) as {
    schemas: Record<string, { oneOf?: unknown }>
  }
  // The document describes messages of the input twice, and both fit.
  const { oneOf: items } = schemas.InputItem!
  schemas.InputItem = { anyOf: items } as object
  ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
  ajv.addSchema({ $id: 'openai', schemas })
  return ajv
}

/** Every deviation of `value` from OpenAI's schema of that name, as `path message`; empty when there is none. */
export function deviations(schema: string, value: unknown): string[] {
  const validate = load().getSchema(`openai#/schemas/${schema}`)
  if (!validate) throw new Error(`tests/data/openai-shapes.json has no schema ${schema}`)
  if (validate(value)) return []
  return (
    (validate.errors ?? [])
      // OpenAI itself sends null here, against its document, and some clients require the key.
      .filter(error => error.instancePath !== '/system_fingerprint')
      .map(error => `${error.instancePath} ${error.message}`)
  )
}

/** Throws with every deviation when `value` is not what OpenAI's schema of that name says. */
export function expectConforms(schema: string, value: unknown): void {
  const problems = deviations(schema, value)
  if (problems.length === 0) return
  throw new Error(`not a ${schema}:\n${problems.join('\n')}\n${JSON.stringify(value).slice(0, 2000)}`)
}

/** The events of a server-sent stream, `[DONE]` included as text. */
export function streamData(text: string): unknown[] {
  return text
    .split(/\n\n/)
    .filter(event => event.startsWith('data:'))
    .map(event => event.slice(5).trim())
    .map(data => (data === '[DONE]' ? data : JSON.parse(data)))
}
