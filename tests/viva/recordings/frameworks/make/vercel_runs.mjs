// Asks the questions of `vercel_runs.py` with the AI SDK: whole, as a conversation, and streamed.
import { appendFileSync, writeFileSync } from "node:fs";
import { createOpenAI } from "@ai-sdk/openai";
import { JsonTraceSerializer } from "@opentelemetry/otlp-transformer";
import { NodeSDK, resources, tracing } from "@opentelemetry/sdk-node";
import * as ai from "ai";
import { z } from "zod";

const given = JSON.parse(process.argv[2]);
const here = process.cwd();
writeFileSync(given.file, "");
const exporter = {
  export(spans, done) {
    const text = Buffer.from(JsonTraceSerializer.serializeRequest(spans)).toString();
    appendFileSync(given.file, text.replaceAll(`file://${here}`, "/app").replaceAll(here, "/app") + "\n");
    done({ code: 0 });
  },
  shutdown: async () => {},
};
const sdk = new NodeSDK({
  resource: resources.resourceFromAttributes({ "service.name": "recorded" }),
  autoDetectResources: false,
  spanProcessors: [new tracing.SimpleSpanProcessor(exporter)],
});
sdk.start();

const { generateText, streamText, tool } = ai;
// Version 4 names these otherwise.
const schema = (fields) => (ai.stepCountIs ? { inputSchema: z.object(fields) } : { parameters: z.object(fields) });
const steps = ai.stepCountIs ? { stopWhen: ai.stepCountIs(5) } : { maxSteps: 5 };
const weather = { Paris: "18 degrees", Rome: "25 degrees" };
const tools = {
  get_weather: tool({
    description: "Tell the weather of a city.",
    ...schema({ city: z.string() }),
    execute: async ({ city }) => {
      if (!(city in weather)) throw new Error(`no such city: ${city}`);
      return weather[city];
    },
  }),
  convert: tool({
    description: "Convert degrees Celsius into another unit.",
    ...schema({ degrees: z.number(), unit: z.string() }),
    execute: async ({ degrees, unit }) => `${Math.floor((degrees * 9) / 5) + 32} ${unit}`,
  }),
};
const common = {
  model: createOpenAI({ baseURL: given.url, apiKey: "none", compatibility: "strict" }).chat(given.model),
  system: given.system,
  tools,
  ...steps,
  experimental_telemetry: { isEnabled: true },
};

for (const prompt of given.single) await generateText({ ...common, prompt });
const messages = [];
for (const content of given.conversation) {
  messages.push({ role: "user", content });
  messages.push(...(await generateText({ ...common, messages })).response.messages);
}
for (const prompt of given.streamed) await streamText({ ...common, prompt }).consumeStream();
const named = (functionId) => ({ ...common, experimental_telemetry: { isEnabled: true, functionId } });
const ask_expert = tool({
  description: "Ask an expert.",
  ...schema({ question: z.string() }),
  execute: async ({ question }) => (await generateText({ ...named("expert"), prompt: question })).text,
});
await generateText({ ...named("asker"), tools: { ...tools, ask_expert }, prompt: given.nested });
const { tools: _, ...plain } = common;
await ai.generateObject({ ...plain, mode: "json", schema: z.object({ degrees: z.number() }), prompt: given.object });
await sdk.shutdown();
