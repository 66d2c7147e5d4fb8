# One image for every role of Perdure: `worker`, `gateway`, `keys`, as docs/deploy.md sets them up.

# Debian and not Alpine: Temporal's core has no binaries for musl.
FROM node:20-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm run build
# What the tests and benchmarks compiled to is of no use at run time.
RUN rm -rf dist/test dist/bench
RUN npm prune --omit=dev

FROM node:20-bookworm-slim
ENV NODE_ENV=production TZ=UTC
WORKDIR /app
COPY --from=build /app/package.json /app/LICENSE ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
# An application is mounted at /app/application. It imports `perdure/kit`, also with a package.json of its own.
RUN mkdir application && ln -s /app node_modules/perdure
# A new volume takes over the owner of the folder that it is mounted on.
RUN install -d -o node -g node -m 700 /data
USER node
EXPOSE 2700
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "dist/cli/perdure.js"]
CMD ["--help"]
