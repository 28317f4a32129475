/**
 * Utilities (docs/api.md): they count tokens, list supported fields and show requests without sending them.
 */
import { z } from 'zod'
import { visibleDeployments } from '../../access/models/model-access.ts'
import { jsonAnswer } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import type { Endpoint, Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import { supportedParams } from '../../core/hub/params.ts'
import { readJsonAs, readQuery } from '../common/checked-input.ts'
import { json, reference } from '../openapi/schema.ts'
import { countTokens } from './utils/token-counter.ts'
import { transformBody, transformRequest } from './utils/transform-request.ts'
import { lazy } from '../../lib/lazy.ts'
import type { Schema } from '../openapi/schema.ts'

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
    request: reference('TokenCountRequest'),
    success: json(reference('TokenCount')),
    callsModel: true,
  },
  async handle(request, services, caller) {
    const { call_endpoint: flagText } = readQuery(request, z.object({ call_endpoint: flag() }))
    const callEndpoint = flagText === 'true' || flagText === '1' || flagText === ''
    return countTokens({ request, services, caller: caller! }, callEndpoint)
  },
}

/** The list in the answer has the name of its path. */
const paramsEndpoint = (
  name: 'supported_compat_params' | 'supported_openai_params',
  doc: { readonly operationId: string; readonly answer: Schema },
): Endpoint => ({
  method: 'GET',
  paths: [`/utils/${name}`],
  auth: 'key',
  doc: {
    operationId: doc.operationId,
    summary: 'The fields of a chat completion that a model takes',
    tag: 'Utilities',
    query: {
      model: {
        schema: { type: 'string' },
        description: 'A model of this gateway, or of the catalogue.',
        required: true,
      },
    },
    success: json(doc.answer),
    failures: [400, 404],
  },
  handle(request, services, caller) {
    const { model } = readQuery(
      request,
      z.object({ model: z.string({ error: 'is missing; name one of GET /v1/models' }).min(1, 'must not be empty') }),
    )
    return jsonAnswer({ [name]: paramsOf(model, services, caller!) })
  },
})

/** 404 for a model that does not exist or is not the key's, 400 for one without chat. */
export const supportedCompatParams = paramsEndpoint('supported_compat_params', {
  operationId: 'listSupportedCompatParams',
  answer: reference('SupportedCompatParams'),
})
/** The same under LiteLLM's name. */
export const supportedOpenaiParams = paramsEndpoint('supported_openai_params', {
  operationId: 'listSupportedOpenaiParams',
  answer: reference('SupportedOpenaiParams'),
})

const article = (word: string): string => (/^[aeiou]/.test(word) ? 'an' : 'a')

/** Throws 404 for a model that does not exist or that the key may not see. */
function paramsOf(model: string, services: Services, caller: Caller): string[] {
  const models = services.current.models.of(caller)
  const visible = visibleDeployments(caller, model, models)
  // The name of a configured model that is not the caller's says nothing about the model of that name elsewhere.
  const known = visible.length > 0 || models.resolve(model).length > 0 ? undefined : models.catalogued(model)
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
    request: reference('TransformRequest'),
    success: json(reference('RawRequest')),
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
