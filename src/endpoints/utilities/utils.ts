/**
 * Utilities (docs/api.md): they count tokens, list supported fields and show requests without sending them.
 */
import { z } from 'zod'
import { visibleDeployments } from '../../access/models/model-access.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import { supportedParams } from '../../core/hub/params.ts'
import { readJsonAs, readQuery } from '../common/checked-input.ts'
import { described, either, json, listOf, named, shape, text } from '../openapi/schema.ts'
import type { Schema, ValueOf } from '../openapi/schema.ts'
import { countTokens, tokenCountSchema } from './utils/token-counter.ts'
import { rawRequestSchema, transformBody, transformRequest } from './utils/transform-request.ts'
import { lazy } from '../../lib/lazy.ts'
import { jsonEndpoint } from '../common/json-endpoint.ts'

const someObject: Schema<object> = { type: 'object' }
const nothing: Schema<null> = { type: 'null' }

const tokenCountRequestSchema = named('TokenCountRequest', () =>
  shape(
    { model: text },
    {
      prompt: either(text, listOf(text), nothing),
      messages: described(
        "They are OpenAI's or Anthropic's; one of prompt, messages and contents is needed.",
        either(listOf(someObject), nothing),
      ),
      contents: described("They are contents as Gemini's clients send them.", either(listOf(someObject), nothing)),
      system: described("It is Anthropic's field beside messages.", either(text, listOf(someObject), nothing)),
      tools: either(listOf(someObject), nothing),
    },
  ),
)

const transformRequestSchema = named('TransformRequest', () =>
  shape({ call_type: { ...text, examples: ['acompletion'] }, request_body: someObject }),
)

/** Python's clients send True. */
const flag = lazy(() =>
  z
    .string()
    .toLowerCase()
    .pipe(z.enum(['true', 'false', '1', '0', ''], { error: 'must be true or false' }))
    .optional(),
)

/** POST /utils/token_counter. For an unknown model the tokenizer is chosen by its name. */
export const tokenCounterEndpoint: Endpoint = {
  method: 'POST',
  paths: ['/utils/token_counter'],
  auth: 'key',
  doc: {
    operationId: 'countTokens',
    summary: 'Count the tokens of a text or of the input of a chat',
    tag: 'Utilities',
    query: {
      call_endpoint: {
        schema: { type: 'boolean', default: false },
        description: "Ask the provider's own counter, where it has one.",
      },
    },
    request: tokenCountRequestSchema,
    success: json(tokenCountSchema),
    callsModel: true,
  },
  async handle(request, services, caller) {
    const { call_endpoint: flagText } = readQuery(request, z.object({ call_endpoint: flag() }))
    const callEndpoint = flagText === 'true' || flagText === '1' || flagText === ''
    return countTokens({ request, services, caller: caller! }, callEndpoint)
  },
}

interface ParamsList<S extends Schema> {
  readonly operationId: string
  readonly path: string
  readonly answer: S
  shown(params: string[]): ValueOf<S>
}

const paramsEndpoint = <S extends Schema>({ operationId, path, answer, shown }: ParamsList<S>): Endpoint =>
  jsonEndpoint(answer, {
    method: 'GET',
    paths: [path],
    auth: 'key',
    doc: {
      operationId,
      summary: 'The fields of a chat completion that a model takes',
      tag: 'Utilities',
      query: {
        model: {
          schema: { type: 'string' },
          description: 'It is a model of this gateway, or of the catalogue.',
          required: true,
        },
      },
      failures: [400, 404],
    },
    handle(request, services, caller) {
      const { model } = readQuery(
        request,
        z.object({ model: z.string({ error: 'is missing; name one of GET /v1/models' }).min(1, 'must not be empty') }),
      )
      return shown(paramsOf(model, services, caller!))
    },
  })

/** 404 for a model that does not exist or is not the key's, 400 for one without chat. */
export const supportedCompatParams = paramsEndpoint({
  path: '/utils/supported_compat_params',
  operationId: 'listSupportedCompatParams',
  answer: named('SupportedCompatParams', () => shape({ supported_compat_params: listOf(text) })),
  shown: params => ({ supported_compat_params: params }),
})

/** The same under LiteLLM's name. */
export const supportedOpenaiParams = paramsEndpoint({
  path: '/utils/supported_openai_params',
  operationId: 'listSupportedOpenaiParams',
  answer: named('SupportedOpenaiParams', () => shape({ supported_openai_params: listOf(text) })),
  shown: params => ({ supported_openai_params: params }),
})

const article = (word: string): string => (/^[aeiou]/.test(word) ? 'an' : 'a')

/** Throws 404 for a model that does not exist or that the key may not see. */
function paramsOf(model: string, services: Services, caller: Caller): string[] {
  const models = services.current.models.of(caller)
  const visible = visibleDeployments(caller, model, models)
  // The name of a configured model that is not the caller's says nothing about the model of that name elsewhere.
  const known = visible.length > 0 || models.resolve(model).length > 0 ? undefined : models.catalogue.find(model)
  const deployments = known ? [known] : visible
  const [first] = deployments
  const shown = model.slice(0, 200)
  if (!first)
    throw new GatewayError(
      'model-not-found',
      `the model '${shown}' does not exist or is not yours to use; GET /v1/models lists those that are`,
      { param: 'model' },
    )
  const params = supportedParams(deployments.filter(one => one.mode === first.mode))
  const chats = first.mode === 'chat' || first.mode === 'completion'
  if (chats && params.length > 0) return params
  const kind = chats ? 'has no chat' : `is ${article(first.mode)} ${first.mode.replace('_', ' ')} model`
  throw new GatewayError(
    'invalid-request',
    `the model '${shown}' ${kind}; only fields of chat completions are listed here, /docs has those of other calls`,
    {
      param: 'model',
    },
  )
}

/**
 * POST /utils/transform_request, answered with the request as the upstream would get it. The error that the call itself
 * would get is in `error`, with status 200; 403 for a model that the key may not call, 422 for an invalid body.
 */
export const transformRequestEndpoint: Endpoint = {
  method: 'POST',
  paths: ['/utils/transform_request'],
  auth: 'key',
  doc: {
    operationId: 'transformRequest',
    summary: 'What a call would send to its upstream; nothing is sent',
    tag: 'Utilities',
    request: transformRequestSchema,
    success: json(rawRequestSchema),
    failures: [403],
  },
  handle: async (request, services, caller) =>
    transformRequest(
      request,
      services,
      caller!,
      await readJsonAs(request, transformBody(), services.current.settings.bodyBytesMax),
    ),
}
