/** A group of endpoints that is loaded at the first request for one of them. */
import type { Endpoint } from '../../core/endpoint.ts'
import { mcpEndpoints } from '../tools/mcp.ts'
import { restToolEndpoints } from '../tools/rest-tools.ts'
import { toolServerEndpoints } from '../tools/tool-servers.ts'

/** Tools: the endpoint of MCP, tool servers, calls by REST. */
export const endpoints: readonly Endpoint[] = [...mcpEndpoints, ...restToolEndpoints, ...toolServerEndpoints]
