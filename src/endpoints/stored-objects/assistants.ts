/**
 * Assistants (OpenAI API reference, "Assistants"). Stored by the gateway, run on any chat model.
 */
import { z } from 'zod'
import { jsonAnswer } from '../../core/answer.ts'
import type { Endpoint } from '../../core/endpoint.ts'
import { checkModel, findObject, newObject } from '../../assistants/objects.ts'
import { changeBody, listObjects, pageParameters, readAssistantJson } from './common/object-requests.ts'
import {
  instructionsField,
  metadataField,
  modelField,
  samplingFields,
  toolResourcesField,
  toolsField,
} from '../../assistants/fields.ts'
import {
  deleteEndpoint,
  deleted,
  docUnder,
  kept,
  metadata,
  retrieveEndpoint,
  sampling,
  tools,
} from './common/object-endpoints.ts'
import type { ObjectPath } from './common/object-endpoints.ts'
import { ownerOf, storingIdOf } from '../../core/caller.ts'
import { pathsOf } from './common/paths.ts'
import { lazy } from '../../lib/lazy.ts'
import { anyObject, named, nullable, pageOf, shape, text } from '../openapi/schema.ts'

const assistantSchema = named('Assistant', () =>
  shape({
    ...kept('assistant'),
    name: nullable(text),
    description: nullable(text),
    model: text,
    instructions: nullable(text),
    tools,
    tool_resources: nullable(anyObject),
    metadata,
    ...sampling,
  }),
)

const assistantListSchema = named('AssistantList', () => pageOf(assistantSchema))
const deletedAssistantSchema = named('DeletedAssistant', () => deleted('assistant'))

const assistantFields = lazy(() => ({
  name: z.string().max(256).nullish(),
  description: z.string().max(512).nullish(),
  instructions: instructionsField(),
  tools: toolsField(128),
  tool_resources: toolResourcesField(),
  metadata: metadataField(),
  ...samplingFields(),
}))

const createBody = lazy(() => z.strictObject({ model: modelField(), ...assistantFields() }))
const modifyBody = lazy(() => z.strictObject({ model: modelField().optional(), ...assistantFields() }))

const doc = docUnder('Assistants')

const create: Endpoint = {
  method: 'POST',
  paths: pathsOf('/assistants'),
  auth: 'key',
  takesRequest: true,
  doc: doc(
    {
      operationId: 'createAssistant',
      summary: 'Create an assistant on any chat model',
      answer: assistantSchema,
    },
    { request: createBody, failures: [403, 404] },
  ),
  async handle(request, services, caller) {
    const body = await readAssistantJson(request, services, createBody())
    checkModel(services, caller!, body.model)
    const assistant = newObject(
      services,
      { kind: 'assistant', keyId: storingIdOf(caller!) },
      {
        name: body.name ?? null,
        description: body.description ?? null,
        model: body.model,
        instructions: body.instructions ?? null,
        tools: body.tools ?? [],
        tool_resources: null,
        metadata: body.metadata ?? {},
        temperature: body.temperature ?? null,
        top_p: body.top_p ?? null,
        response_format: body.response_format ?? 'auto',
        reasoning_effort: body.reasoning_effort ?? null,
      },
    )
    await services.assistants.insert([assistant])
    return jsonAnswer(assistant.body)
  },
}

const list: Endpoint = {
  method: 'GET',
  paths: pathsOf('/assistants'),
  auth: 'key',
  doc: doc(
    {
      operationId: 'listAssistants',
      summary: 'The assistants of this key; with the master key, all',
      answer: assistantListSchema,
    },
    { query: pageParameters },
  ),
  handle: (request, services, caller) => listObjects(request, services, { kind: 'assistant', keyId: ownerOf(caller!) }),
}

const one: ObjectPath = {
  paths: pathsOf('/assistants/{assistant_id}'),
  tag: 'Assistants',
  find: ({ params }, services, caller) => findObject(services, caller, { kind: 'assistant', id: params.assistant_id! }),
}

const modify: Endpoint = {
  method: 'POST',
  paths: one.paths,
  auth: 'key',
  takesRequest: true,
  doc: doc(
    {
      operationId: 'updateAssistant',
      summary: 'Change an assistant; only the fields sent change',
      answer: assistantSchema,
    },
    { request: modifyBody, requestOptional: true, failures: [403] },
  ),
  async handle(request, services, caller) {
    const assistant = await one.find(request, services, caller!)
    const { tool_resources: _, ...changes } = await readAssistantJson(request, services, modifyBody())
    if (changes.model !== undefined) checkModel(services, caller!, changes.model)
    // null resets fields that are never null in the object to their defaults.
    const { tools, metadata, response_format: format } = changes
    return changeBody(services, assistant, {
      ...changes,
      ...(tools === null && { tools: [] }),
      ...(metadata === null && { metadata: {} }),
      ...(format === null && { response_format: 'auto' }),
    })
  },
}

/**
 * A key sees its own assistants, the master key all; 404 for another's. 404 or 403 also for a model that the key may
 * not call, before anything is stored.
 */
export const assistantEndpoints: readonly Endpoint[] = [
  list,
  create,
  retrieveEndpoint(one, { operationId: 'getAssistant', summary: 'An assistant', answer: assistantSchema }),
  modify,
  deleteEndpoint(one, {
    operationId: 'deleteAssistant',
    summary: 'Delete an assistant; its threads and runs stay',
    answer: deletedAssistantSchema,
  }),
]
