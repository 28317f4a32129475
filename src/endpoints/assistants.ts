/** Assistants: gateway API specification, and OpenAI's API reference, "Assistants". Kept here, run on any model. */
import { z } from 'zod'
import { jsonAnswer } from '../core/answer.ts'
import type { Endpoint, EndpointDoc } from '../core/endpoint.ts'
import type { AssistantObject } from '../core/ports.ts'
import {
  changeBody, checkModel, deleteObject, findObject, listObjects, newId, nowS, ownerOf, pageParameters, pathsOf, readJson, schemaOf,
} from './assistants/common.ts'
import {
  instructionsField, metadataField, modelField, samplingFields, toolResourcesField, toolsField,
} from './assistants/fields.ts'

const assistantFields = {
  name: z.string().max(256).nullish(),
  description: z.string().max(512).nullish(),
  instructions: instructionsField,
  tools: toolsField(128),
  tool_resources: toolResourcesField,
  metadata: metadataField,
  ...samplingFields,
}
const createBody = z.strictObject({ model: modelField, ...assistantFields })
const modifyBody = z.strictObject({ model: modelField.optional(), ...assistantFields })

const doc = (summary: string, more: Partial<EndpointDoc> = {}): EndpointDoc => ({
  summary, tag: 'Assistants', response: { type: 'object' }, ...more,
})

const create: Endpoint = {
  method: 'POST',
  paths: pathsOf('/assistants'),
  auth: 'key',
  doc: doc('Create an assistant on any chat model', { request: schemaOf(createBody) }),
  async handle(request, services, caller) {
    const body = await readJson(request, services, createBody)
    checkModel(services, caller!, body.model)
    const id = newId('asst')
    const assistant: AssistantObject = {
      id,
      kind: 'assistant',
      keyId: caller!.key.id,
      parentId: null,
      runId: null,
      active: false,
      updatedAtMs: services.epochMs(),
      hidden: {},
      body: {
        id,
        object: 'assistant',
        created_at: nowS(services),
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
    }
    await services.assistants.insert([assistant])
    return jsonAnswer(assistant.body)
  },
}

const list: Endpoint = {
  method: 'GET',
  paths: pathsOf('/assistants'),
  auth: 'key',
  doc: doc('The assistants of this key; with the master key, all', { query: pageParameters }),
  handle: (request, services, caller) => listObjects(request, services, { kind: 'assistant', keyId: ownerOf(caller!) }),
}

const retrieve: Endpoint = {
  method: 'GET',
  paths: pathsOf('/assistants/{assistant_id}'),
  auth: 'key',
  doc: doc('An assistant'),
  async handle({ params }, services, caller) {
    return jsonAnswer((await findObject(services, caller!, { kind: 'assistant', id: params.assistant_id! })).body)
  },
}

const modify: Endpoint = {
  method: 'POST',
  paths: pathsOf('/assistants/{assistant_id}'),
  auth: 'key',
  doc: doc('Change an assistant; only the fields sent change', { request: schemaOf(modifyBody) }),
  async handle(request, services, caller) {
    const assistant = await findObject(services, caller!, { kind: 'assistant', id: request.params.assistant_id! })
    const { tool_resources: _, ...changes } = await readJson(request, services, modifyBody)
    if (changes.model !== undefined) checkModel(services, caller!, changes.model)
    // Fields that are never null in the object go back to what they were at first.
    const { tools, metadata, response_format: format } = changes
    return changeBody(services, assistant, {
      ...changes,
      ...(tools === null && { tools: [] }),
      ...(metadata === null && { metadata: {} }),
      ...(format === null && { response_format: 'auto' }),
    })
  },
}

const remove: Endpoint = {
  method: 'DELETE',
  paths: pathsOf('/assistants/{assistant_id}'),
  auth: 'key',
  doc: doc('Delete an assistant; its threads and runs stay'),
  async handle({ params }, services, caller) {
    const assistant = await findObject(services, caller!, { kind: 'assistant', id: params.assistant_id! })
    return deleteObject(services, assistant, 'assistant')
  },
}

export const assistantEndpoints: readonly Endpoint[] = [list, create, retrieve, modify, remove]
