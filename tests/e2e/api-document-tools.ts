/** Requests for `api-document.test.ts`: tools. */
import type { Ask } from './api-document-models.ts'

/** At a gateway with the tool server `tools` of `startToolServer`. */
export async function askTools(ask: Ask): Promise<void> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const modern = { ...headers, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover' }
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  for (const path of ['/mcp', '/mcp/{server}', '/{server}/mcp']) {
    const place = { in: { server: 'tools' } }
    const discover = { jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: meta } }
    await ask('POST', path, { ...place, headers: modern, body: discover })
    await ask('POST', path, { ...place, headers, body: { jsonrpc: '2.0', id: 1, method: 'ping' } })
    await ask('DELETE', path, { ...place, status: 204 })
  }
  await ask('GET', '/mcp-rest/tools/list')
  await ask('GET', '/mcp-rest/tools/list', { query: 'server_id=none', status: 403 })
  await ask('GET', '/v1/mcp/tools', { query: 'server_id=tools' })
  const call = (name: string, status = 200) =>
    ask('POST', '/mcp-rest/tools/call', { body: { name, arguments: { text: 'x' } }, status })
  await call('tools-echo')
  await call('tools-fail')
  await call('none-echo', 403)
  await askToolServers(ask)
}

async function askToolServers(ask: Ask): Promise<void> {
  const sent = { server_name: 'made', url: 'https://mcp.example.com/mcp', mcp_access_groups: ['research'] }
  const { server_id: id } = await ask('POST', '/v1/mcp/server', { body: sent })
  await ask('POST', '/v1/mcp/server', { body: sent, status: 409 })
  await ask('PUT', '/v1/mcp/server', { body: { server_id: id, description: 'changed' } })
  await ask('GET', '/v1/mcp/server')
  const ofOne = { in: { server_id: 'tools' } }
  await ask('GET', '/v1/mcp/server/{server_id}', ofOne)
  await ask('GET', '/v1/mcp/server/{server_id}/health', ofOne)
  await ask('GET', '/v1/mcp/access_groups')
  await ask('DELETE', '/v1/mcp/server/{server_id}', { in: { server_id: String(id) } })
  await ask('DELETE', '/v1/mcp/server/{server_id}', { ...ofOne, status: 400 })
  await ask('GET', '/v1/mcp/server/health')
}
