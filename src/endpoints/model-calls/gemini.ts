/** The paths of Gemini's API: `/v1beta` (@google/genai 2.x, Gemini CLI) and `/v1` (3.x), the action behind a colon. */
import { listedNames, unaliased, visibleDeployments } from '../../access/models/model-access.ts'
import { jsonAnswer } from '../../core/answer.ts'
import type { Answer } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, EndpointDoc, ModelCall, Services } from '../../core/endpoint.ts'
import type { HttpRequest } from '../../core/request.ts'
import { GatewayError } from '../../core/errors.ts'
import { bodySchema } from '../../core/dialects/fields.ts'
import type { ModelDirectory } from '../../core/model-directory.ts'
import {
  geminiBatchEmbedContents,
  geminiCountTokens,
  geminiEmbedContent,
  geminiErrorBody,
  geminiGenerate,
  geminiGenerateArray,
  geminiModelEntry,
} from '../../formats/gemini/index.ts'
import { countFields } from '../../formats/gemini/count-tokens.ts'
import { embedTable } from '../../formats/gemini/embeddings.ts'
import { generateTable } from '../../formats/gemini/fields.ts'

/** Of actions also without a version, as clients write them whose address has it, or should have. */
const bases = ['/v1beta', '/v1', '/gemini/v1beta', '/gemini/v1', '/gemini', '']
/** `/v1/models` is OpenAI's. */
const listBases = ['/v1beta', '/gemini/v1beta', '/gemini/v1']
const actions = ['generateContent', 'streamGenerateContent', 'countTokens', 'embedContent', 'batchEmbedContents']
const shownCharactersMax = 200

/** Of every endpoint here: Gemini's clients may send the key in the query, and read Gemini's errors. */
const geminiAccess = { auth: 'key', keyInQuery: true, errorBody: geminiErrorBody } as const

interface Action {
  readonly name: (typeof actions)[number]
  readonly doc: Omit<EndpointDoc, 'tag'>
  call(request: HttpRequest): Pick<ModelCall, 'format' | 'stream'>
}

const pathsOf = (action: Action['name']): string[] => bases.map(base => `${base}/models/{model+}:${action}`)

const actionAt = ({ name, doc, call }: Action): Endpoint => ({
  method: 'POST',
  paths: pathsOf(name),
  ...geminiAccess,
  doc: { tag: 'Gemini', callsModel: true, ...doc },
  handle: (request, services, caller) =>
    services.callModel(request, caller!, { ...call(request), ...calledBy(request, name) }),
})

const calledBy = (request: HttpRequest, action: Action['name']): Pick<ModelCall, 'route' | 'model'> => ({
  route: `/v1beta/models/{model}:${action}`,
  model: plainName(request.params.model!),
})

/** Some clients send `models/` twice. */
const plainName = (model: string): string => model.replace(/^models\//, '')

const answers = () => import('./answers/gemini.ts')
const generateRequest = () => bodySchema(generateTable.fields)
const embedRequest = () => bodySchema(embedTable.fields)

const generateContent = actionAt({
  name: 'generateContent',
  doc: {
    operationId: 'generateContent',
    summary: "Generate an answer, in Gemini's dialect",
    request: generateRequest,
    success: async () => (await answers()).generateSuccess,
  },
  call: () => ({ format: geminiGenerate, stream: false }),
})

const streamGenerateContent = actionAt({
  name: 'streamGenerateContent',
  doc: {
    operationId: 'streamGenerateContent',
    summary: "Generate an answer as a stream, in Gemini's dialect",
    query: {
      alt: {
        schema: { enum: ['sse', 'json'], default: 'json' },
        description: 'Whether the answer is server-sent events or one JSON array.',
      },
    },
    request: generateRequest,
    success: async () => (await answers()).streamGenerateSuccess,
  },
  call(request) {
    const alt = request.query.get('alt') ?? 'json'
    if (alt !== 'sse' && alt !== 'json')
      throw new GatewayError('invalid-request', "`alt` must be 'sse' for server-sent events or 'json' for an array", {
        param: 'alt',
      })
    return { format: alt === 'sse' ? geminiGenerate : geminiGenerateArray, stream: true }
  },
})

const countTokens: Endpoint = {
  method: 'POST',
  paths: pathsOf('countTokens'),
  ...geminiAccess,
  doc: {
    operationId: 'countContentTokens',
    tag: 'Gemini',
    summary: "Count the tokens of a request, in Gemini's dialect",
    request: () => bodySchema(countFields),
    success: async () => (await answers()).countTokensSuccess,
    callsModel: true,
    headers: ['x-token-count-source'],
  },
  handle: (request, services, caller) =>
    services.callModel(request, caller!, {
      format: geminiCountTokens,
      stream: false,
      ...calledBy(request, 'countTokens'),
    }),
}

const embedContent = actionAt({
  name: 'embedContent',
  doc: {
    operationId: 'embedContent',
    summary: "Embed one content, in Gemini's dialect",
    request: embedRequest,
    success: async () => (await answers()).embedSuccess,
  },
  call: () => ({ format: geminiEmbedContent, stream: false }),
})

const batchEmbedContents = actionAt({
  name: 'batchEmbedContents',
  doc: {
    operationId: 'batchEmbedContents',
    summary: "Embed several contents, in Gemini's dialect",
    request: () => ({
      type: 'object',
      required: ['requests'],
      properties: { requests: { type: 'array', minItems: 1, items: embedRequest() } },
    }),
    success: async () => (await answers()).batchEmbedSuccess,
  },
  call: () => ({ format: geminiBatchEmbedContents, stream: false }),
})

/** Refuses other actions with a list of the supported ones. */
const otherAction: Endpoint = {
  method: 'POST',
  // The same pattern as that of GET, whose parameter has another name under /v1.
  paths: [
    ...[...listBases, '/gemini'].map(base => `${base}/models/{model+}`),
    '/v1/models/{model_id+}',
    '/models/{model_id+}',
  ],
  ...geminiAccess,
  doc: { operationId: 'refuseOtherModelAction', summary: 'Any other action: refused', tag: 'Gemini' },
  handle(request) {
    const path = request.path.slice(-shownCharactersMax)
    const known = actions.map(name => `:${name}`).join(', ')
    throw new GatewayError('not-found', `there is no action at '${path}'; the actions are ${known}`)
  },
}

function entry(caller: Caller, index: ModelDirectory, id: string): object | undefined {
  const [deployment] = visibleDeployments(caller, unaliased(caller, id), index)
  return deployment && geminiModelEntry(id, deployment.mode, deployment.info)
}

/** GET /v1beta/models: the models of this key, in pages when the client asks for them. */
const modelsList: Endpoint = {
  method: 'GET',
  paths: listBases.map(base => `${base}/models`),
  ...geminiAccess,
  doc: {
    operationId: 'listGeminiModels',
    summary: "List the models this key may use, in Gemini's dialect",
    tag: 'Gemini',
    query: {
      pageSize: {
        schema: { type: 'integer', minimum: 1 },
        description: 'How many models a page has; all of them when it is left out.',
      },
      pageToken: { schema: { type: 'string' }, description: 'It is the `nextPageToken` of the page before.' },
    },
    success: async () => (await answers()).modelListSuccess,
    failures: [400],
  },
  handle: (request, services, caller) => geminiModelsAnswer(request, services, caller!),
}

/** The list, also for Gemini's clients that ask for it under OpenAI's path. */
export function geminiModelsAnswer(request: HttpRequest, services: Services, caller: Caller): Answer {
  const index = services.current.models.of(caller)
  const ids = listedNames(caller, index)
  const size = wholeNumber(request, 'pageSize', 1) ?? ids.length
  const from = wholeNumber(request, 'pageToken', 0) ?? 0
  const models = ids.slice(from, from + size).flatMap(id => entry(caller, index, id) ?? [])
  return jsonAnswer({ models, ...(from + size < ids.length && { nextPageToken: String(from + size) }) })
}

/** A number in the query, in camel or snake case. */
function wholeNumber({ query }: HttpRequest, name: string, least: number): number | undefined {
  const text = query.get(name) ?? query.get(name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`))
  if (text === null || text === '') return undefined
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new GatewayError('invalid-request', `\`${name}\` must be an integer of at least ${least}`, { param: name })
}

/** GET /v1beta/models/{model}: 404 for a model that does not exist or that the key may not see. */
const modelsOne: Endpoint = {
  method: 'GET',
  paths: listBases.map(base => `${base}/models/{model+}`),
  ...geminiAccess,
  doc: {
    operationId: 'getGeminiModel',
    summary: "One model, in Gemini's dialect",
    tag: 'Gemini',
    success: async () => (await answers()).modelSuccess,
  },
  handle: (request, services, caller) => geminiModelAnswer(request.params.model!, services, caller!),
}

/** One model; 404 when the key may not see it. */
export function geminiModelAnswer(name: string, services: Services, caller: Caller): Answer {
  const id = plainName(name)
  const index = services.current.models.of(caller)
  const found = entry(caller, index, id)
  if (found) return jsonAnswer(found)
  throw new GatewayError(
    'model-not-found',
    `the model '${id.slice(0, shownCharactersMax)}' does not exist or is not yours to use`,
    {
      param: 'model',
    },
  )
}

/** Listed before OpenAI's model lists: under `/v1` an action matches the pattern of a model's name. */
export const geminiEndpoints: readonly Endpoint[] = [
  generateContent,
  streamGenerateContent,
  countTokens,
  embedContent,
  batchEmbedContents,
  modelsList,
  modelsOne,
  otherAction,
]
