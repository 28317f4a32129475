/** Which tools an object of the tenants may use, in the names of LiteLLM's `object_permission`. */
export interface ToolPermission {
  /** Names or ids of tool servers; absent or empty = it says nothing of servers. */
  readonly mcp_servers?: readonly string[] | undefined
  /** Groups of servers: those of them count as named. */
  readonly mcp_access_groups?: readonly string[] | undefined
  /** By the name or id of a server: its tools that may be used, no others. A server that is missing is not narrowed. */
  readonly mcp_tool_permissions?: Readonly<Record<string, readonly string[]>> | undefined
  /** Tools that may not be used, by the names that servers have for them, or as they are offered. */
  readonly blocked_tools?: readonly string[] | undefined
}
