// For tests: small made-up datasets of other sites and of pages, as the documentation of each
// describes them.
#pragma once

#include "fileset/platform_sample.h"

namespace quern::fileset {

// https://datadryad.org/api
inline Sample dryad_sample() {
  return {"dryad",
          "https://datadryad.org/dataset/doi:10.5061/dryad.abc12",
          "",
          {{"https://datadryad.org/api/v2/datasets/doi%3A10.5061%2Fdryad.abc12",
            R"({"identifier":"doi:10.5061/dryad.abc12","id":5,"versionNumber":2,"title":"Birds",
"authors":[{"firstName":"Jane","lastName":"Doe"}],"abstract":"Wings","visibility":"public",
"publicationDate":"2023-01-01","license":"https://cc0.example",
"_links":{"stash:version":{"href":"/api/v2/versions/93"},
"stash:download":{"href":"/api/v2/datasets/doi%3A10.5061%2Fdryad.abc12/download"}}})"},
           {"https://datadryad.org/api/v2/versions/93/files",
            R"({"_links":{"self":{"href":"/api/v2/versions/93/files"},
"next":{"href":"/api/v2/versions/93/files?page=2"}},"count":1,"total":2,
"_embedded":{"stash:files":[{"path":"birds.csv","size":10,"mimeType":"text/csv",
"status":"created","digestType":"sha-256",
"digest":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
"_links":{"stash:download":{"href":"/api/v2/files/1/download"}}}]}})"},
           {"https://datadryad.org/api/v2/versions/93/files?page=2",
            R"({"_links":{"self":{"href":"/api/v2/versions/93/files?page=2"}},"count":1,"total":2,
"_embedded":{"stash:files":[{"path":"README.md","size":3,"mimeType":"text/plain",
"status":"copied","_links":{"stash:download":{"href":"/api/v2/files/2/download"}}},
{"path":"gone.csv","status":"deleted"}]}})"}}};
}

// https://developer.osf.io
inline Sample osf_sample() {
  return {"osf",
          "https://osf.io/ab3de/",
          "",
          {{"https://api.osf.io/v2/guids/ab3de/",
            R"({"data":{"id":"ab3de","type":"nodes","attributes":{"title":"Study",
"description":"Of things","public":true,"date_modified":"2024-02-03T04:05:06"}}})"},
           {"https://api.osf.io/v2/nodes/ab3de/files/osfstorage/",
            R"({"data":[{"id":"f0","type":"files","attributes":{"kind":"folder","name":"raw",
"materialized_path":"/raw/"},"relationships":{"files":{"links":{"related":{
"href":"https://api.osf.io/v2/nodes/ab3de/files/osfstorage/f0/"}}}}}],
"links":{"next":"https://api.osf.io/v2/nodes/ab3de/files/osfstorage/?page=2"}})"},
           {"https://api.osf.io/v2/nodes/ab3de/files/osfstorage/?page=2",
            R"({"data":[{"id":"f1","type":"files","attributes":{"kind":"file","name":"top.txt",
"materialized_path":"/top.txt","size":4,"extra":{"hashes":{
"md5":"0cc175b9c0f1b6a831c399e269772661",
"sha256":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"}}},
"links":{"download":"https://osf.io/download/f1/"}}],"links":{"next":null}})"},
           {"https://api.osf.io/v2/nodes/ab3de/files/osfstorage/f0/",
            R"({"data":[{"id":"f2","type":"files","attributes":{"kind":"file","name":"x.csv",
"materialized_path":"/raw/x.csv","size":9,"extra":{"hashes":{}}},
"links":{"download":"https://osf.io/download/f2/"}}],"links":{"next":null}})"}}};
}

// https://docs.github.com/en/rest/releases/releases
inline Sample github_sample() {
  return {"github",
          "https://github.com/octo/data/releases/tag/v1.0",
          "",
          {{"https://api.github.com/repos/octo/data/releases/tags/v1.0",
            R"({"tag_name":"v1.0","name":"First","draft":false,"body":"Notes",
"html_url":"https://github.com/octo/data/releases/tag/v1.0",
"published_at":"2024-07-08T09:10:11Z","author":{"login":"octo"},
"zipball_url":"https://api.github.com/repos/octo/data/zipball/v1.0",
"assets":[{"name":"d.tar.gz","size":77,"content_type":"application/gzip","state":"uploaded",
"digest":"sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
"browser_download_url":"https://github.com/octo/data/releases/download/v1.0/d.tar.gz"},
{"name":"broken.bin","size":1,"state":"starter","browser_download_url":"https://x.example/"}]})"}}};
}

// https://docs.ckan.org/en/latest/api/
inline Sample ckan_sample() {
  return {"ckan",
          "https://open.example.gov/portal/dataset/bus-stops",
          "<meta name=\"generator\" content=\"ckan 2.10.1\" />",
          {{"https://open.example.gov/portal/api/3/action/package_show?id=bus-stops",
            R"({"success":true,"result":{"name":"bus-stops","title":"Bus stops","private":false,
"state":"active","author":"City","notes":"All of them","license_id":"cc-by",
"metadata_modified":"2024-01-01T00:00:00","resources":[
{"id":"r1","name":"Stops","format":"CSV","url":"https://open.example.gov/d/stops.csv","size":55,
"mimetype":"text/csv","hash":"0cc175b9c0f1b6a831c399e269772661"},
{"id":"r2","name":"Stops","format":"CSV","url":"https://open.example.gov/e/stops.csv",
"size":null,"hash":""},
{"id":"r3","name":"By street","format":"JSON","url":"https://open.example.gov/query?all=1",
"size":"12"},
{"id":"r4","name":"Paper","format":"","url":"ftp://open.example.gov/x"}]}})"}}};
}

// https://releases.dataone.org/online/api-documentation-v2.0/apis/CN_APIs.html
inline Sample dataone_sample() {
  return {"dataone",
          "https://arcticdata.io/catalog/view/doi:10.18739/A2XYZ",
          "",
          {{"https://cn.dataone.org/cn/v2/query/solr/?q=identifier%3A%22doi%3A10.18739%2FA2XYZ%22&"
            "fl=identifier,formatType,formatId,resourceMap&rows=5000&start=0&wt=json",
            R"({"response":{"numFound":1,"start":0,"docs":[{"identifier":"doi:10.18739/A2XYZ",
"formatType":"METADATA","resourceMap":["old_map","map_2"]}]}})"},
           {"https://cn.dataone.org/cn/v2/query/solr/?q=resourceMap%3A%22map_2%22&"
            "fl=identifier,formatType,title,size,formatId,fileName,checksum,checksumAlgorithm,"
            "dataUrl,dateUploaded&rows=5000&start=0&wt=json",
            R"({"response":{"numFound":2,"start":0,"docs":[
{"identifier":"doi:10.18739/A2XYZ","formatType":"METADATA","formatId":"eml://e/eml-2.1.1",
"size":16,"checksum":"86f7e437faa5a7fce15d1ddcb9eaeaea377667b8","checksumAlgorithm":"SHA1",
"title":"Thaw","dateUploaded":"2017-01-20T21:54:41Z",
"dataUrl":"https://cn.dataone.org/cn/v2/resolve/doi%3A10.18739%2FA2XYZ"},
{"identifier":"urn:uuid:1","formatType":"DATA","formatId":"text/csv","fileName":"t.csv","size":7,
"checksum":"0cc175b9c0f1b6a831c399e269772661","checksumAlgorithm":"MD5"}]}})"}}};
}

// https://support.datacite.org/reference/dois-2
inline Sample datacite_sample() {
  return {"datacite",
          "https://doi.org/10.9999/abc",
          "<html></html>",
          {{"https://api.datacite.org/dois/10.9999%2Fabc",
            R"({"data":{"id":"10.9999/abc","attributes":{"doi":"10.9999/abc",
"titles":[{"title":"Fish"}],"creators":[{"name":"Doe, Jane"}],"published":"2020",
"url":"https://fish.example/10.9999/abc","contentUrl":["https://fish.example/files/fish.csv"],
"formats":["text/csv"],"version":null,"rightsList":[{"rightsUri":"https://cc0.example"}]}}})"}}};
}

// https://developers.google.com/search/docs/appearance/structured-data/dataset
inline Sample schemaorg_sample() {
  return {"schemaorg",
          "https://sea.example/10.1594/SEA.1",
          R"(<html><SCRIPT type='application/ld+json'>{broken</script>
<script type="application/ld+json">{"@context":"https://schema.org/","@graph":[
{"@type":"WebPage"},{"@type":["Dataset"],"name":"Sea","identifier":"https://doi.org/10.1594/SEA.1",
"creator":[{"@type":"Person","name":"Jane Doe"}],"license":{"@id":"https://cc.example"},
"datePublished":"2019-06-21","isAccessibleForFree":true,"distribution":[
{"@type":"DataDownload","encodingFormat":"application/zip","contentSize":"1,234 bytes",
"contentUrl":"/10.1594/SEA.1?format=zip"},
{"@type":"DataDownload","encodingFormat":"CSV","contentSize":"1.2 MB",
"contentUrl":["https://sea.example/d/a.csv","https://sea.example/e/a.csv"]}]}]}</script></html>)",
          {}};
}

inline Sample single_sample() {
  return {"single", "https://files.example/pub/a%20b.zip", "", {}, "application/zip"};
}

}  // namespace quern::fileset
