/** Refusals and failures as errors of JSON-RPC. */
import type { GatewayError } from '../core/errors.ts'

const invalidParams = -32602
const internalError = -32603
/** Outside of what JSON-RPC and MCP reserve (2026-07-28, basic, error codes). */
const refusedCode = -31000

/** The error object of JSON-RPC. */
export function protocolError(error: GatewayError): { code: number; message: string; data: Record<string, unknown> } {
  const isRequests = error.status === 400 || error.status === 404 || error.status === 422
  const code = isRequests ? invalidParams : error.status < 500 ? refusedCode : internalError
  return {
    code,
    message: error.message,
    data: {
      status: error.status,
      code: error.code ?? error.kind,
      ...(error.retryAfterMs !== undefined && { retry_after_ms: error.retryAfterMs }),
    },
  }
}

/** The body of an answer that refuses a request as a whole. */
export const protocolErrorBody = (error: GatewayError) => ({ jsonrpc: '2.0', id: null, error: protocolError(error) })
