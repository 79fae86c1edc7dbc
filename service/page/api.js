// /docs: openapi.json as a page, without anything from other servers.

const main = document.querySelector("main");

/** Add an element; in its text, what is between backticks is code. */
const add = (parent, name, text = "") => {
  const element = document.createElement(name);
  if (name === "pre" || name === "textarea") element.textContent = text;
  else element.append(...text.split("`").map((part, at) => (at % 2 ? add(element, "code", part) : part)));
  parent.append(element);
  return element;
};

const table = (heading, title, rows) => {
  if (!rows.length) return;
  add(main, heading, title);
  const body = add(main, "table");
  for (const [name, text] of rows) {
    const row = add(body, "tr");
    add(add(row, "td"), "code", name);
    add(row, "td", text);
  }
};

const about = (field) => {
  const fallback = "default" in field ? ` (default: ${JSON.stringify(field.default)})` : "";
  return `${field.description ?? ""}${fallback}`;
};

// Of a path of the service, wherever a proxy has put it.
const addressOf = (path) => new URL(path.slice(1), location.href).href;

const curl = (path, media, value) => {
  const body = typeof value === "string" ? value : JSON.stringify(value);
  const quoted = body.replaceAll("'", "'\\''");
  const head = `curl -s ${addressOf(path)} -H 'Content-Type: ${media}'`;
  return `${head} \\\n  --data-binary '${quoted}'`;
};

let key = ""; // asked for when the server wants one

const send = async (path, options) => {
  const asked = () => fetch(path.slice(1), { ...options, headers: { ...options.headers, ...(key ? { "X-API-Key": key } : {}) } });
  let answer = await asked();
  if (answer.status === 401) {
    key = prompt("This server requires an API key:") ?? "";
    if (key) answer = await asked();
  }
  const text = await answer.text();
  const isJSON = answer.headers.get("Content-Type")?.startsWith("application/json");
  return `${answer.status} ${answer.statusText}\n\n${isJSON ? JSON.stringify(JSON.parse(text), null, 2) : text}`;
};

// A request that can be changed and sent; without a `body` it is a GET.
const addTry = (path, media, body) => {
  const part = add(main, "details");
  add(part, "summary", "Try it");
  const box = body === undefined ? null : add(part, "textarea", body);
  if (box) {
    box.rows = Math.min(12, body.split("\n").length + 1);
    box.spellcheck = false;
    box.setAttribute("aria-label", `Body of ${path}`);
  }
  const button = add(part, "button", "Send");
  const shown = add(part, "pre");
  shown.className = "answer";
  shown.tabIndex = 0;
  shown.setAttribute("role", "status");
  shown.setAttribute("aria-label", `Answer of ${path}`);
  shown.hidden = true;
  button.addEventListener("click", async () => {
    button.disabled = true;
    const options = box ? { method: "POST", headers: { "Content-Type": media }, body: box.value } : {};
    shown.textContent = await send(path, options).catch(() => "The server does not respond. Is it still running?");
    shown.hidden = button.disabled = false;
  });
};

const readable = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

const showBody = (path, media, content, schemas) => {
  const examples = content.examples ?? { Text: { value: content.example } };
  const forms = content.schema.anyOf ?? [content.schema];
  Object.entries(examples).forEach(([name, example], place) => {
    add(main, "h3", name);
    add(main, "pre", curl(path, media, example.value));
    addTry(path, media, readable(example.value));
    const model = forms[place]?.$ref?.split("/").pop();
    const fields = Object.entries(schemas[model]?.properties ?? {});
    table("h4", "Fields", fields.map(([field, described]) => [field, about(described)]));
  });
};

const show = (path, method, operation, schemas) => {
  add(main, "h2", `${method.toUpperCase()} ${path}`);
  add(main, "p", operation.description);
  const parameters = operation.parameters ?? [];
  const rows = parameters.map((each) => [each.name, `${each.in}: ${about({ ...each.schema, ...each })}`]);
  table("h3", "Parameters", rows);
  for (const [media, content] of Object.entries(operation.requestBody?.content ?? {})) {
    showBody(path, media, content, schemas);
  }
  if (method === "get") {
    add(main, "pre", `curl -s ${addressOf(path)}`);
    addTry(path);
  }
  const responses = Object.entries(operation.responses);
  table("h3", "Responses", responses.map(([code, each]) => [code, each.description]));
};

const answer = await fetch("openapi.json");
const description = await answer.json();
add(main, "h1", `${description.info.title} ${description.info.version}`);
add(main, "p", description.info.description);
for (const [path, operations] of Object.entries(description.paths)) {
  for (const [method, operation] of Object.entries(operations)) {
    show(path, method, operation, description.components.schemas);
  }
}
