/** Mistral's bodies, by the zod schemas of its own package, which know the fields by their names in camel case. */
import { ChatCompletionRequest$outboundSchema } from '@mistralai/mistralai/models/components/chatcompletionrequest.js'
import { ChatCompletionStreamRequest$outboundSchema } from '@mistralai/mistralai/models/components/chatcompletionstreamrequest.js'
import { differences } from '../golden/golden.ts'

/** Their values are the client's own JSON, in which no name belongs to Mistral. */
const foreign: ReadonlySet<string> = new Set(['parameters', 'schema', 'metadata', 'arguments'])

function camelCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelCased)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name === 'schema' ? 'schemaDefinition' : name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      foreign.has(name) ? one : camelCased(one),
    ]),
  )
}

/** How `body` deviates: what the schema refuses, and the fields that it does not know, which it leaves out. */
export function mistralDeviations(body: Readonly<Record<string, unknown>>): string[] {
  const schema =
    body.stream === true ? ChatCompletionStreamRequest$outboundSchema : ChatCompletionRequest$outboundSchema
  const parsed = schema.safeParse(camelCased(body))
  if (!parsed.success) return parsed.error.issues.map(one => `/${one.path.join('/')} ${one.message}`)
  // Defaults that the schema adds are no deviation.
  const added = (line: string): boolean => line.includes('expected nothing')
  return differences(body, JSON.parse(JSON.stringify(parsed.data)) as unknown)
    .filter(line => !added(line))
    .map(line => `/${line}`)
}
