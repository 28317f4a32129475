/** The OpenAPI 3.1 document, made from the registered endpoints. */
import type { Endpoint, EndpointDoc, SuccessDoc } from '../../core/endpoint.ts'
import { failureResponse, failureStatuses } from './errors.ts'
import { headerComponents, headersOfSuccess } from './headers.ts'
import { namedIn } from './schema.ts'
import { parametersOf, schemaOf } from './zod-schema.ts'

/** Tags in the order in which readers see them. */
const tags: Readonly<Record<string, string>> = {
  Chat: 'Chat completions, whole and streamed.',
  Completions: 'Text completions; emulated on models that only chat.',
  Responses: "OpenAI's Responses, kept for each key unless `store` is false.",
  Messages: "Anthropic's Messages, on every chat model.",
  Gemini: "Gemini's API, on every model.",
  Embeddings: 'Vectors for texts.',
  Moderation: 'Whether texts and images are harmful.',
  Reranking: 'Documents ordered by how well they answer a query.',
  Images: 'Pictures made, edited and varied.',
  Audio: 'Speech from text, text from speech.',
  Files: 'Files at an upstream, under ids of this gateway.',
  Batches: 'Many requests in one file, answered later by an upstream.',
  Agents: 'Telemetry and settings of coding agents that have signed in.',
  Assistants: 'Assistants on any chat model.',
  Threads: 'Threads, their messages, and the runs of assistants.',
  Conversations: 'What persons chat, kept for them alone.',
  Tools: 'Tools of MCP servers, for each key those that it may use.',
  Models: 'What a key may use, and what is behind it.',
  Credentials: 'Keys and addresses that models made by API share.',
  'Access groups': 'Names for sets of models.',
  Guardrails: 'Rules that read the texts of calls.',
  Keys: 'Virtual keys.',
  Users: 'Persons with keys, and their roles.',
  Teams: 'Teams and their members.',
  Organizations: 'Organizations, which hold teams.',
  Customers: "End users of clients' applications.",
  Budgets: 'Limits and budgets under a name, for many objects.',
  Tags: 'Labels of calls, with limits and budgets.',
  Directory: 'Users and teams of a directory, by SCIM 2.0.',
  Audit: 'Who changed what.',
  Configuration: 'What the gateway is set to, and by what.',
  Cache: 'Kept answers.',
  Spend: 'The ledger of all calls.',
  Utilities: 'What a call would cost, carry or send.',
  Health: 'Probes and metrics.',
  'Sign-in': 'How persons sign in with a browser.',
  Docs: 'This document.',
}

const description = `One API in front of many language models, in the dialects of OpenAI, Anthropic and Gemini.

The schema of a \`text/event-stream\` answer is that of the \`data\` of one event.`

const keyHeader = (name: string): object => ({ type: 'apiKey', in: 'header', name })

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'It is a virtual key or the master key.' },
  xApiKey: keyHeader('x-api-key'),
  apiKey: keyHeader('api-key'),
  xLitellmApiKey: keyHeader('x-litellm-api-key'),
  xProxyApiKey: keyHeader('x-proxy-api-key'),
  xGoogApiKey: keyHeader('x-goog-api-key'),
  keyParameter: { type: 'apiKey', in: 'query', name: 'key' },
}

const keyHeaders = ['bearer', 'xApiKey', 'apiKey', 'xGoogApiKey', 'xLitellmApiKey', 'xProxyApiKey'] as const

/** What the document says of the gateway that serves it. */
export interface DocumentOptions {
  readonly version: string
  /** What headers about a call begin with (Settings.headerPrefix). */
  readonly headerPrefix: string
  /** Below which the gateway is served: `/gw`, or empty. */
  readonly rootPath: string
}

/** An endpoint whose success is known. */
interface DescribedEndpoint extends Endpoint {
  readonly doc: EndpointDoc & { readonly success?: SuccessDoc }
}

/** Loads what describes the successes of endpoints that are there from the start. */
async function describedEndpoint(endpoint: Endpoint): Promise<DescribedEndpoint> {
  const { success: given, ...doc } = endpoint.doc
  const success = typeof given === 'function' ? await given() : given
  return { ...endpoint, doc: { ...doc, ...(success && { success }) } }
}

/** Makes the document of these endpoints. */
export async function openapiDocument(
  all: readonly Endpoint[],
  { version, headerPrefix, rootPath }: DocumentOptions,
): Promise<object> {
  const endpoints = await Promise.all(all.map(describedEndpoint))
  const paths: Record<string, Record<string, object>> = {}
  const responses: Record<string, object> = {}
  for (const endpoint of endpoints)
    for (const path of endpoint.paths) {
      const shown = path.replaceAll('+}', '}')
      paths[shown] = {
        ...paths[shown],
        [endpoint.method.toLowerCase()]: operation(endpoint, shown, { headerPrefix, responses }),
      }
    }
  return {
    openapi: '3.1.0',
    info: { title: 'Modelgate', version, description },
    servers: [{ url: rootPath || '/', description: 'This gateway' }],
    tags: Object.entries(tags).map(([name, text]) => ({ name, description: text })),
    paths,
    components: {
      schemas: {
        ...namedIn({ paths, responses }),
      },
      responses,
      headers: headerComponents,
      securitySchemes,
    },
  }
}

interface Shared {
  readonly headerPrefix: string
  /** Filled with the responses that operations refer to. */
  readonly responses: Record<string, object>
}

function operation(endpoint: DescribedEndpoint, path: string, shared: Shared): object {
  const { doc } = endpoint
  return {
    operationId: operationId(endpoint, path),
    summary: doc.summary,
    tags: [doc.tag],
    security: security(endpoint),
    parameters: parameters(endpoint, path),
    ...(doc.request && {
      requestBody: {
        required: !doc.requestOptional,
        content: { [doc.requestType ?? 'application/json']: { schema: schemaOf(doc.request) } },
      },
    }),
    responses: { ...success(endpoint, shared.headerPrefix), ...failures(endpoint, path, shared) },
  }
}

function parameters({ doc }: Endpoint, path: string): object[] {
  return [
    ...[...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
    })),
    ...Object.entries(parametersOf(doc.query ?? {})).map(
      ([name, { required = false, description: about, schema }]) => ({
        name,
        in: 'query',
        required,
        ...(about !== undefined && { description: about }),
        schema,
      }),
    ),
  ]
}

/** An empty list = no key is needed. Gemini's clients may put the key into the query. */
function security({ auth, keyInQuery }: Endpoint): object[] {
  if (auth === 'none') return []
  const names = keyInQuery ? [...keyHeaders, 'keyParameter'] : keyHeaders
  return names.map(name => ({ [name]: [] }))
}

function success(endpoint: DescribedEndpoint, headerPrefix: string): object {
  if (!endpoint.doc.success) return {}
  const content = Object.entries(endpoint.doc.success).map(([type, schema]) => [type, { schema }])
  const { successStatus = 200 } = endpoint.doc
  const canStream = 'text/event-stream' in endpoint.doc.success
  return {
    [successStatus]: {
      description: 'The request was done as it was asked for',
      headers: headersOfSuccess(endpoint, { prefix: headerPrefix, canStream }),
      ...(content.length > 0 && { content: Object.fromEntries(content) }),
    },
  }
}

function failures(endpoint: Endpoint, path: string, { headerPrefix, responses }: Shared): object {
  const context = { hasBody: endpoint.doc.request !== undefined, hasPathParameter: path.includes('{') }
  const statuses = [...failureStatuses(endpoint, context).map(String), 'default']
  return Object.fromEntries(
    statuses.map(status => {
      const { name, response } = failureResponse(endpoint, status, headerPrefix)
      responses[name] = response
      return [status, { $ref: `#/components/responses/${name}` }]
    }),
  )
}

/** `v1`, `v1beta`. */
const versionStep = /^\/v\d+[a-z]*(?=\/)/

/**
 * The first path that begins with a version, else the first, has the endpoint's own id. Others add where they differ:
 * `createChatCompletion` is `createChatCompletionAtEngines` under `/engines/{model}/chat/completions`.
 */
function operationId({ paths, doc }: Endpoint, path: string): string {
  const shown = paths.map(one => one.replaceAll('+}', '}'))
  const first = shown.find(one => versionStep.test(one)) ?? shown[0]!
  if (path === first) return doc.operationId
  const tail = first.replace(versionStep, '')
  const differing = path.endsWith(tail) ? path.slice(0, -tail.length) : path
  const words = differing.replace(/\{[^}]*\}/g, '').match(/[A-Za-z0-9]+/g) ?? ['root']
  return `${doc.operationId}At${words.map(word => word[0]!.toUpperCase() + word.slice(1)).join('')}`
}
