/** Requests for `api-document.test.ts`: models, credentials and access groups made by API. */

type Json = Record<string, unknown>
interface Asking {
  readonly in?: Record<string, string>
  readonly body?: object
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly status?: number
}
/** Asks, and checks the answer against the document. */
export type Ask = (method: string, path: string, asking?: Asking) => Promise<Json>

export async function askModelsByApi(ask: Ask): Promise<void> {
  const post = (path: string, body: object, status = 200) => ask('POST', path, { body, status })
  const params = { model: 'custom_openai/sim-chat', api_base: 'http://127.0.0.1:1/v1', rpm: 1 }
  const { model_id: id } = await post('/model/new', { model_name: 'made', litellm_params: params })
  await post('/model/new', { model_name: 'made', litellm_params: params, model_info: { id } }, 409)
  await post('/model/new', { model_name: 'made', litellm_params: { model: 'nowhere/x' } }, 422)
  await post('/model/update', { model_info: { id }, litellm_params: { timeout: 5 } })
  const change = { in: { model_id: String(id) }, body: { model_name: 'renamed' } }
  await ask('PATCH', '/model/{model_id}/update', change)
  await ask('PATCH', '/model/{model_id}/update', { ...change, body: { version: 1 }, status: 409 })
  await ask('PATCH', '/model/{model_id}/update', { in: { model_id: String(id) }, body: { blocked: true } })
  await post('/model/block', { model_id: id, reason: 'too slow' })
  await post('/model/block', { model_id: 'none' }, 404)
  await ask('GET', '/v2/model/info', { query: `modelId=${id}` })
  await ask('GET', '/health/deployments')
  await ask('GET', '/health/providers')
  await ask('GET', '/providers')
  await ask('GET', '/health', { query: `model_id=${id}` })
  await post('/model/unblock', { model_id: id })
  await post('/model/unblock', { model_id: 'none' }, 404)
  await post('/model/delete', { id })
  await post('/model/delete', { id }, 400)

  const named = { in: { credential_name: 'shared' } }
  await post('/credentials', { credential_name: 'shared', credential_values: { api_key: 'sk-shared-secret' } })
  await post('/credentials', { credential_name: 'shared', credential_values: {} }, 409)
  await post('/credentials', { credential_name: 'other' }, 422)
  await ask('GET', '/credentials')
  await ask('GET', '/credentials/by_name/{credential_name}', named)
  await ask('GET', '/credentials/by_model/{model_id}', { in: { model_id: 'none' }, status: 404 })
  const first = ((await ask('GET', '/model/info')) as { data: { model_info: { id: string } }[] }).data[0]!
  await ask('GET', '/credentials/by_model/{model_id}', { in: { model_id: first.model_info.id } })
  await ask('PATCH', '/credentials/{credential_name}', { ...named, body: { credential_info: { team: 'red' } } })
  await ask('DELETE', '/credentials/{credential_name}', named)
  await ask('DELETE', '/credentials/{credential_name}', { ...named, status: 404 })
  await askAccessGroups(ask)
  await askGuardrails(ask)
  await ask('GET', '/cache/activity', { query: 'days=2' })
  await ask('GET', '/cache/activity', { query: 'days=0', status: 422 })
  await askTags(post, ask)
  await ask('GET', '/v2/model/info', { query: 'page=1&size=2&sortBy=costs&sortOrder=desc&search=model' })
  await ask('GET', '/v2/model/info', { query: 'size=1000000', status: 422 })
  await ask('GET', '/model_group/info')
  await post('/model_group/make_public', { model_groups: ['chat-model'] })
  await post('/model_group/make_public', { model_groups: ['absent'] }, 404)
  await ask('GET', '/public/model_hub')
  await ask('GET', '/health', { query: 'model=chat-model' })
  await ask('GET', '/config/effective')
  await ask('GET', '/routes')
}

async function askTags(post: (path: string, body: object, status?: number) => Promise<Json>, ask: Ask): Promise<void> {
  await post('/tag/new', { name: 'batch', description: 'nightly', max_budget: 5, rpm_limit: 10 })
  await post('/tag/new', { name: 'batch' }, 409)
  await post('/tag/new', { name: 'other', max_budgets: 1 }, 422)
  await post('/tag/update', { name: 'batch', description: null, max_budget: 7.5 })
  await post('/tag/update', { name: 'none' }, 404)
  await post('/tag/info', { names: ['batch', 'none'] })
  await ask('GET', '/tag/list')
  await ask('GET', '/team/available')
  await post('/tag/delete', { name: 'batch' })
  await post('/tag/delete', { name: 'batch' }, 404)
}

async function askGuardrails(ask: Ask): Promise<void> {
  const words = { guardrail: 'words', mode: 'pre_call', words: ['zanzibar'], api_key: 'a-secret' }
  const guardrail = { guardrail_name: 'names', litellm_params: words, guardrail_info: { note: 'n' } }
  const made = await ask('POST', '/guardrails', { body: { guardrail } })
  await ask('POST', '/guardrails', { body: { guardrail }, status: 409 })
  const byId = { in: { guardrail_id: String(made.guardrail_id) } }
  await ask('GET', '/guardrails/list')
  await ask('GET', '/v2/guardrails/list')
  await ask('GET', '/guardrails/{guardrail_id}/used_by', byId)
  for (const path of ['/guardrails/{guardrail_id}/info', '/guardrails/{guardrail_id}']) await ask('GET', path, byId)
  for (const path of ['/guardrails/apply_guardrail', '/guardrails/apply'])
    await ask('POST', path, { body: { guardrail_name: 'names', text: 'to Zanzibar' } })
  await ask('PUT', '/guardrails/{guardrail_id}', { ...byId, body: { guardrail: { litellm_params: words } } })
  await ask('PATCH', '/guardrails/{guardrail_id}', { ...byId, body: { guardrail: { guardrail_info: {} } } })
  await ask('DELETE', '/guardrails/{guardrail_id}', byId)
}

async function askAccessGroups(ask: Ask): Promise<void> {
  const group = { in: { access_group: 'beta' } }
  const body = { access_group: 'beta', model_names: ['chat-model'] }
  await ask('POST', '/access_group/new', { body })
  await ask('POST', '/access_group/new', { body, status: 409 })
  await ask('GET', '/access_group/list')
  await ask('GET', '/access_group/{access_group}/info', group)
  await ask('PUT', '/access_group/{access_group}/update', { ...group, body: { model_names: ['claude-model'] } })
  await ask('DELETE', '/access_group/{access_group}/delete', group)
  for (const path of ['/v1/access_group', '/v1/unified_access_group']) {
    const made = await ask('POST', path, { body: { access_group_name: 'gamma' }, status: 201 })
    const byId = { in: { access_group_id: String(made.access_group_id) } }
    await ask('GET', path)
    await ask('GET', `${path}/{access_group_id}`, byId)
    await ask('PUT', `${path}/{access_group_id}`, { ...byId, body: { access_model_names: ['chat-model'] } })
    await ask('DELETE', `${path}/{access_group_id}`, { ...byId, status: 204 })
  }
}
